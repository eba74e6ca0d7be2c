//! What of TLS is spoken: versions, cipher suites, groups.

use super::{Group, Suite, TlsVersion};
use crate::config::scalar::policy::{GROUPS, SUITES};

/// What of TLS is spoken. Never empty in any part, and every version has a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsPolicy {
    /// Versions, the newest first.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites of these versions, in order of preference.
    pub suites: Vec<Suite>,
    /// Groups for key exchange, in order of preference.
    pub groups: Vec<Group>,
}

impl TlsPolicy {
    /// These versions, with everything that is offered for them.
    pub fn of(versions: Vec<TlsVersion>) -> Self {
        let suites = SUITES.into_iter().filter(|suite| versions.contains(&suite.version)).collect();
        Self { versions, suites, groups: GROUPS.to_vec() }
    }
}

impl Default for TlsPolicy {
    fn default() -> Self {
        Self::of(vec![TlsVersion::Tls13])
    }
}
