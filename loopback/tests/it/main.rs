//! Loopback QUIC between real endpoints.
//!
//! - [`handshake`]: what both ends learn from one another, and what they refuse.
//! - [`listener`]: dial before accept.

#![allow(clippy::disallowed_methods, reason = "tests own their tasks: each ends with the runtime of its test")]

mod handshake;
mod listener;
mod support;
