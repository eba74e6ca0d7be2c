//! TLS versions, cipher suites and groups of a `tls` block, a listener's or an upstream's.

use crate::config::{
    field::{Field, Located},
    scalar::policy::{self, Group, Suite, TlsVersion},
    walk::Fields,
};

/// What of TLS is spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Versions.
    pub versions: Field<Vec<Located<TlsVersion>>>,
    /// Cipher suites, in order of preference.
    pub cipher_suites: Field<Vec<Located<Suite>>>,
    /// Groups for key exchange, in order of preference.
    pub groups: Field<Vec<Located<Group>>>,
}

pub(super) fn read(fields: &Fields<'_>) -> Policy {
    Policy {
        versions: fields.list("versions", policy::version),
        cipher_suites: fields.list("cipher_suites", policy::cipher_suite),
        groups: fields.list("groups", policy::group),
    }
}
