//! The TLS edge of a pod: Raw QUIC, WebTransport and TLS/h2 in front of components that speak plaintext over
//! loopback, with identities and trust that reload while it runs.
//!
//! There is one way through the house, and imports follow it:
//!
//! ```text
//! YAML -> config -> plan -> material -> tls -> listen / dial -> bridge
//! ```
//!
//! Each stage takes the output type of the stage before. [`app`] alone composes them; [`observe`] and [`runtime`]
//! serve all and know none. `ARCHITECTURE.md` says what each stage may not do.

pub mod admin;
pub mod app;
pub mod bridge;
pub mod cli;
pub mod config;
pub mod dial;
pub mod listen;
pub mod live;
pub mod material;
pub mod observe;
pub mod plan;
pub mod runtime;
pub mod tls;
pub mod transport;
