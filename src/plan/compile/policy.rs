//! What of TLS is spoken.

use std::cmp::Reverse;

use super::Compiler;
use crate::{
    config::{
        Field,
        problem::{Fault, shown},
        scalar::scheme::{Scheme, Unit},
        section::policy::Policy,
    },
    plan::{TlsPolicy, TlsVersion},
};

impl Compiler<'_> {
    /// The policy of a `tls` block whose address has this scheme. `None`: a part of it could not be read.
    pub(super) fn policy(&self, written: &Policy, scheme: Option<Scheme>) -> Option<TlsPolicy> {
        let Policy { versions, cipher_suites, groups } = written;
        if versions.is_invalid() || cipher_suites.is_invalid() || groups.is_invalid() {
            return None;
        }
        let mut policy = match versions.value() {
            None => TlsPolicy::default(),
            Some(versions) => {
                self.check_twice(versions, |version| format!("TLS {}", version.as_str()));
                let old = versions.iter().find(|version| version.value == TlsVersion::Tls12);
                if let (Some(old), Some(Unit::Session)) = (old, scheme.map(Scheme::unit)) {
                    let fault =
                        Fault::new("QUIC is TLS 1.3 (RFC 9001 section 4.2)", "`versions: [ \"1.3\" ]`, or none");
                    self.report(&old.spot, fault);
                }
                let mut versions: Vec<_> = versions.iter().map(|version| version.value).collect();
                versions.sort_by_key(|version| Reverse(*version));
                TlsPolicy::of(versions)
            }
        };
        if let Field::Given(suites) = cipher_suites {
            self.check_twice(&suites.value, |suite| shown(suite.name));
            for suite in suites.value.iter().filter(|suite| !policy.versions.contains(&suite.value.version)) {
                let message = format!("`{}` is for TLS {}", suite.value.name, suite.value.version.as_str());
                self.report(&suite.spot, Fault::new(message, "suites of the `versions` beside it"));
            }
            let bare = policy.versions.iter().find(|one| suites.value.iter().all(|suite| suite.value.version != **one));
            if let Some(bare) = bare {
                let message = format!("there is no suite for TLS {}", bare.as_str());
                self.report(&suites.spot, Fault::new(message, "at least one for each of the `versions`"));
            }
            policy.suites = suites.value.iter().map(|suite| suite.value).collect();
        }
        if let Some(groups) = groups.value() {
            self.check_twice(groups, |group| shown(group.0));
            policy.groups = groups.iter().map(|group| group.value).collect();
        }
        Some(policy)
    }
}
