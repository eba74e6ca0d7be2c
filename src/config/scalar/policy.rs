//! TLS versions, cipher suites and key exchange groups, by the names of the IANA registries.

use super::Parsed;
use crate::config::problem::{Fault, near, shown};

/// A TLS version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsVersion {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

impl TlsVersion {
    /// As it is written in a file: `1.2` or `1.3`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        }
    }
}

/// A cipher suite, and the version that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Suite {
    /// Its name in the registry of TLS cipher suites.
    pub name: &'static str,
    /// The version that it is for.
    pub version: TlsVersion,
}

/// A group of the registry of TLS supported groups, by its name there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group(pub &'static str);

const fn suite(name: &'static str, version: TlsVersion) -> Suite {
    Suite { name, version }
}

/// Every suite that may be written, in the order of preference that holds where none are: all authenticate the data
/// (AEAD) and all exchange keys afresh.
pub const SUITES: [Suite; 9] = [
    suite("TLS_AES_256_GCM_SHA384", TlsVersion::Tls13),
    suite("TLS_AES_128_GCM_SHA256", TlsVersion::Tls13),
    suite("TLS_CHACHA20_POLY1305_SHA256", TlsVersion::Tls13),
    suite("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", TlsVersion::Tls12),
    suite("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", TlsVersion::Tls12),
    suite("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", TlsVersion::Tls12),
    suite("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", TlsVersion::Tls12),
    suite("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", TlsVersion::Tls12),
    suite("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", TlsVersion::Tls12),
];

/// Every group that may be written, in the order of preference that holds where none are: the hybrid with ML-KEM first,
/// since what is recorded today can be read when there are quantum computers.
pub const GROUPS: [Group; 4] = [Group("X25519MLKEM768"), Group("x25519"), Group("secp256r1"), Group("secp384r1")];

/// Parses a TLS version.
pub fn version(text: &str) -> Parsed<TlsVersion> {
    match text {
        "1.2" => Ok(TlsVersion::Tls12),
        "1.3" => Ok(TlsVersion::Tls13),
        _ => {
            Err(Fault::new(format!("{} is no TLS version that is spoken here", shown(text)), "`\"1.3\"` or `\"1.2\"`"))
        }
    }
}

/// Parses the name of a cipher suite.
pub fn cipher_suite(text: &str) -> Parsed<Suite> {
    SUITES.iter().find(|suite| suite.name == text).copied().ok_or_else(|| unknown(text, SUITES.map(|suite| suite.name)))
}

/// Parses the name of a group.
pub fn group(text: &str) -> Parsed<Group> {
    GROUPS.iter().find(|group| group.0 == text).copied().ok_or_else(|| unknown(text, GROUPS.map(|group| group.0)))
}

fn unknown<const N: usize>(text: &str, known: [&'static str; N]) -> Fault {
    let allowed = known.map(|name| format!("`{name}`")).join(", ");
    let same = known.into_iter().find(|name| name.eq_ignore_ascii_case(text));
    Fault::new(format!("{} is not offered here", shown(text)), format!("one of {allowed}"))
        .meant(same.or_else(|| near(text, known)))
}
