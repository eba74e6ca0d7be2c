//! One integration binary; its table of contents.
//!
//! | module | what it holds Iris to |
//! |---|---|
//! | `bridge` | streams, codes, closes, limits, datagrams, each way |
//! | `bulk` | a gibibyte in flat memory |
//! | `cli` | the binary: exit codes, signals, a reader that goes away |
//! | `grpc` | registration: calls that live as long as their ends want, through whatever becomes of the files |
//! | `http3` | HTTP/3 passes through untouched, also in the reverse shape |
//! | `lossy` | stream identifiers under loss and reordering |
//! | `mixed` | versions, application protocols, destinations, re-encryption, limits |
//! | `probe` | `iris probe`: what it tells of a server, and its exit codes |
//! | `refused` | who is refused, with which reason |
//! | `contraction` | what stands on a CA or an identity that goes does not stay; everybody else comes to no harm |
//! | `drain` | stopping |
//! | `reload` | identities and trust that change while it runs |
//! | `streams` | TLS over TCP, TCP and Unix sockets: bytes, ends, aborts, handshakes |
//! | `structure` | the house stands as ARCHITECTURE.md says: imports, owners, sizes, prose |

#![allow(clippy::disallowed_methods, reason = "a test owns its tasks until its runtime ends")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "figures")]

mod bridge;
mod bulk;
mod cli;
mod contraction;
mod drain;
mod grpc;
mod http3;
mod lossy;
mod mixed;
mod probe;
mod refused;
mod reload;
mod streams;
mod structure;
mod support;
