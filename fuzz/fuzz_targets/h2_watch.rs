//! Any bytes as both directions of an HTTP/2 connection, in pieces, with a drain in between: nothing lost, nothing added
//! but whole frames, nothing held, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| iris::bridge::fuzz_h2(data));
