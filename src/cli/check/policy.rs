//! What of TLS each secured listener and upstream speaks.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::plan::{Plan, TlsPolicy};

/// What one component speaks.
#[derive(Debug, Serialize)]
pub(super) struct PolicyRow {
    /// Its name.
    component: String,
    versions: Vec<&'static str>,
    cipher_suites: Vec<&'static str>,
    groups: Vec<&'static str>,
}

impl PolicyRow {
    fn of(component: &str, policy: &TlsPolicy) -> Self {
        Self {
            component: component.to_owned(),
            versions: policy.versions.iter().map(|version| version.as_str()).collect(),
            cipher_suites: policy.suites.iter().map(|suite| suite.name).collect(),
            groups: policy.groups.iter().map(|group| group.0).collect(),
        }
    }

    fn same_terms(&self, other: &Self) -> bool {
        (&self.versions, &self.cipher_suites, &self.groups) == (&other.versions, &other.cipher_suites, &other.groups)
    }
}

/// What every secured component of a plan speaks.
pub(super) fn rows(plan: &Plan) -> Vec<PolicyRow> {
    let listeners = plan.listeners.iter().filter_map(|one| Some((&one.name, &one.end.tls()?.policy)));
    let upstreams = plan.upstreams.iter().filter_map(|one| Some((&one.name, &one.end.tls()?.policy)));
    listeners.chain(upstreams).map(|(name, policy)| PolicyRow::of(name, policy)).collect()
}

/// Writes them for people, those that speak the same together.
pub(super) fn write(out: &mut String, rows: &[PolicyRow]) -> fmt::Result {
    let mut told: Vec<&PolicyRow> = Vec::new();
    for row in rows {
        if told.iter().any(|earlier| earlier.same_terms(row)) {
            continue;
        }
        let alike: Vec<_> = rows.iter().filter(|one| one.same_terms(row)).map(|one| one.component.as_str()).collect();
        writeln!(out, "TLS of {}: {}", alike.join(", "), row.versions.join(", "))?;
        for suites in row.cipher_suites.chunks(2) {
            writeln!(out, "    suites:  {}", suites.join(" "))?;
        }
        writeln!(out, "    groups:  {}\n", row.groups.join(" "))?;
        told.push(row);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::from_yaml;

    #[test]
    fn those_that_speak_the_same_are_told_together() {
        let plan = from_yaml(
            "identities:\n  edge: { certificate: a, private_key: b }\ntrust:\n  all: { bundle: c }\n\
             listeners:\n  - { name: new, listen: 'quic://[::]:1', tls: { identities: [ edge ] }, routes: [ { upstream: far } ] }\n  \
             - { name: old, listen: 'tls://[::]:1', tls: { identities: [ edge ], versions: [ '1.2', '1.3' ], groups: [ x25519 ] }, routes: [ { upstream: far } ] }\n\
             upstreams:\n  - { name: far, dial: 'tls://far.example:1', tls: { trust: all } }\n",
        )
        .unwrap_or_else(|problems| panic!("{problems}"));
        let (rows, mut text) = (rows(&plan), String::new());
        write(&mut text, &rows).unwrap();
        assert_eq!(
            text,
            "TLS of new, far: 1.3\n    \
             suites:  TLS_AES_256_GCM_SHA384 TLS_AES_128_GCM_SHA256\n    \
             suites:  TLS_CHACHA20_POLY1305_SHA256\n    \
             groups:  X25519MLKEM768 x25519 secp256r1 secp384r1\n\n\
             TLS of old: 1.3, 1.2\n    \
             suites:  TLS_AES_256_GCM_SHA384 TLS_AES_128_GCM_SHA256\n    \
             suites:  TLS_CHACHA20_POLY1305_SHA256 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384\n    \
             suites:  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256\n    \
             suites:  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n    \
             suites:  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256\n    \
             groups:  x25519\n\n"
        );
        assert_eq!(serde_json::to_value(&rows[1]).unwrap()["versions"], serde_json::json!(["1.3", "1.2"]));
    }
}
