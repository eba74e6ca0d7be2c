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
    /// How the lists are used.
    pub revocation: RevocationPolicy,
    /// What becomes of connections that are still trusted after a contraction.
    pub still_trusted: StillTrusted,
}

/// How the revocation lists beside a bundle are used. The default is that of the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RevocationPolicy {
    /// What a list past its next update is good for.
    pub expired: ExpiredLists,
    /// Which certificates of a chain are looked for in lists.
    pub depth: RevocationDepth,
    /// What becomes of a certificate whose issuer has no list.
    pub unknown: UnknownStatus,
}

/// What a revocation list past its next update is good for (RFC 5280 section 6.3.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExpiredLists {
    /// What it names stays refused, and nothing else.
    #[default]
    Use,
    /// Nobody of its issuer is believed: who was revoked since is not known.
    Refuse,
}

/// Which certificates of a chain are looked for in revocation lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RevocationDepth {
    /// All but the anchor.
    #[default]
    Chain,
    /// The peer's own.
    Leaf,
}

/// What becomes of a certificate whose issuer has no revocation list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnknownStatus {
    /// It passes.
    #[default]
    Accept,
    /// It is refused.
    Refuse,
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
