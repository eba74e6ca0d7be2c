//! Helpers: a throwaway PKI, the app on port 0, peers and components.

pub(crate) mod app;
pub(crate) mod component;
pub(crate) mod forwarder;
pub(crate) mod http;
pub(crate) mod kubelet;
pub(crate) mod peer;
pub(crate) mod pki;
pub(crate) mod process;
pub(crate) mod registry;
pub(crate) mod secrets;
pub(crate) mod standalone;
pub(crate) mod tunnel;
pub(crate) mod wait;
