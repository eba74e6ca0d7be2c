//! Loopback QUIC between real endpoints.
//!
//! - [`handshake`]: what both ends learn from one another, and what they refuse.
//! - [`listener`]: dial before accept.
//! - [`version`]: TLS peers and loopback peers that meet by mistake.
//! - [`hostile`]: clients made of bytes ([`raw`]).
//! - [`path`]: loss and reordering, a restart, many busy streams.
//!
//! `../memory.rs` is a program of its own.

#![allow(clippy::disallowed_methods, reason = "tests own their tasks: each ends with the runtime of its test")]

mod handshake;
mod hostile;
mod listener;
mod path;
#[allow(dead_code, reason = "shared with `memory.rs`, which floods")]
mod raw;
mod support;
mod version;
