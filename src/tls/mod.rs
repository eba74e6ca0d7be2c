//! The only constructors of TLS and QUIC crypto configurations, derived whole from generations and plan.
//!
//! [`Configs`] holds those of all roles. A listener's [`choose`](ListenerConfigs::choose) decides when a ClientHello has
//! been read; [`accept`] and [`UpstreamConfigs::dial`] make the crypto of one connection, and tell afterwards what was
//! chosen, what the peer allows, and why it failed.

mod alert;
mod classify;
mod client;
mod configs;
mod listener;
mod peer;
mod policy;
pub mod probe;
mod server;
mod session;
mod standing;
pub mod stream;
#[cfg(test)]
mod tests;
mod upstream;
mod verify;

pub use iris_loopback::PeerLimits;

pub use alert::Alert;
pub use classify::{classify, is_late_handshake_failure};
pub use configs::{Configs, DeriveError};
pub use listener::{Chosen, Config, ListenerConfigs, Refused};
pub use peer::{Chain, PeerIdentity, chain_of};
pub use session::{AcceptOutcome, DialOutcome, accept, initial_only};
pub use standing::Standing;
pub use upstream::UpstreamConfigs;
pub use verify::{Judged, failure_of};
