//! Any bytes in place of a hello, in pieces, to both sides: an error at worst, never a panic, never growth.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| iris_loopback::fuzz_hello(data));
