//! Registration over gRPC: TLS outside, HTTP/2 in plaintext inside.
//!
//! | module | what it holds Iris to |
//! |---|---|
//! | `calls` | calls reach the backend as they were made, live as long as their ends want, and are cancelled when one of them does |
//! | `egress` | a client without TLS reaches a server with it, also through two in a row |
//! | `refused` | who is refused, visibly; nothing falls back |
//! | `rotation` | what a renewal, an overlap and a contraction do to calls and to handshakes |
//! | `expect` | what a replacement must satisfy |

mod calls;
mod client;
mod egress;
mod expect;
mod refused;
mod rig;
mod rotation;
