//! From a policy's names to what rustls takes.

use std::sync::Arc;

use rustls::{
    SupportedCipherSuite, SupportedProtocolVersion,
    crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs::kx_group},
};

use crate::{
    material::provider,
    plan::{Group, Suite, TlsPolicy, TlsVersion},
};

/// The provider with the suites and groups of a policy, in its order, and nothing else.
pub(super) fn restricted(policy: &TlsPolicy) -> Arc<CryptoProvider> {
    let mut restricted = CryptoProvider::clone(provider());
    restricted.cipher_suites = policy.suites.iter().filter_map(|suite| suite_of(*suite)).collect();
    restricted.kx_groups = policy.groups.iter().filter_map(|group| group_of(*group)).collect();
    Arc::new(restricted)
}

/// The versions of a policy.
pub(super) fn versions(policy: &TlsPolicy) -> Vec<&'static SupportedProtocolVersion> {
    let version = |version: &TlsVersion| match version {
        TlsVersion::Tls12 => &rustls::version::TLS12,
        TlsVersion::Tls13 => &rustls::version::TLS13,
    };
    policy.versions.iter().map(version).collect()
}

fn suite_of(suite: Suite) -> Option<SupportedCipherSuite> {
    // The registry has one name for both versions; rustls puts the version in front of those of TLS 1.3.
    let name = match suite.version {
        TlsVersion::Tls12 => suite.name.to_owned(),
        TlsVersion::Tls13 => suite.name.replacen("TLS_", "TLS13_", 1),
    };
    provider().cipher_suites.iter().find(|known| known.suite().as_str() == Some(&name)).copied()
}

fn group_of(group: Group) -> Option<&'static dyn SupportedKxGroup> {
    match group.0 {
        "X25519MLKEM768" => Some(kx_group::X25519MLKEM768),
        "x25519" => Some(kx_group::X25519),
        "secp256r1" => Some(kx_group::SECP256R1),
        "secp384r1" => Some(kx_group::SECP384R1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::scalar::policy::{GROUPS, SUITES};

    #[test]
    fn every_name_that_may_be_written_stands_for_something() {
        for suite in SUITES {
            let found = suite_of(suite).unwrap_or_else(|| panic!("no {}", suite.name));
            assert_eq!(found.tls13().is_some(), suite.version == TlsVersion::Tls13, "{}", suite.name);
        }
        for group in GROUPS {
            assert!(group_of(group).is_some(), "no {}", group.0);
        }
        assert_eq!(SUITES.len(), provider().cipher_suites.len(), "the provider has suites that nobody can write");
    }

    #[test]
    fn a_policy_leaves_nothing_else() {
        let policy = TlsPolicy { suites: vec![SUITES[1]], groups: vec![GROUPS[2]], ..TlsPolicy::default() };
        let restricted = restricted(&policy);
        assert_eq!((restricted.cipher_suites.len(), restricted.kx_groups.len()), (1, 1));
        assert_eq!(restricted.kx_groups[0].name(), rustls::NamedGroup::secp256r1);
    }
}
