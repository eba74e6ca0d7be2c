//! Which files make which material.

use std::{path::PathBuf, time::Duration};

use super::{DnsPattern, TrustId};

/// One identity: a certificate chain and its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityPlan {
    /// Its name.
    pub name: String,
    /// The files it is read from.
    pub source: IdentitySource,
    /// What every generation of it must satisfy.
    pub expect: Expectation,
}

/// The files of an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentitySource {
    /// Chain and key apart, as in a `kubernetes.io/tls` Secret.
    Pair {
        /// PEM chain, leaf first.
        certificate: PathBuf,
        /// PEM private key.
        private_key: PathBuf,
    },
    /// Chain and key in one PEM file.
    Bundle(PathBuf),
}

/// What a replacement must satisfy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectation {
    /// Names that the leaf must cover.
    pub names: Vec<DnsPattern>,
    /// A trust bundle that the chain must reach.
    pub chains_to: Option<TrustId>,
}

/// One trust bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustPlan {
    /// Its name.
    pub name: String,
    /// PEM file of its anchors.
    pub bundle: PathBuf,
    /// PEM files of revocation lists.
    pub revocation_lists: Vec<PathBuf>,
    /// What becomes of connections that are still trusted after a contraction.
    pub still_trusted: StillTrusted,
}

/// What becomes of connections that are still trusted after a contraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StillTrusted {
    /// Each is closed within this time, spread evenly.
    Recycle {
        /// The window.
        spread: Duration,
    },
    /// They stay. A departure from the rule, which `iris check` reports.
    Keep,
}
