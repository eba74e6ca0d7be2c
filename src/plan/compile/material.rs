//! Identities and trust bundles.

use std::path::PathBuf;

use super::{Compiler, settings::RELOAD_BOUND, whole};
use crate::{
    config::{
        Field, Located,
        problem::Fault,
        scalar::duration,
        section::material::{self, Expect, Identity, Trust},
    },
    plan::{
        Expectation, ExpiredLists, IdentityPlan, IdentitySource, ReloadSettings, RevocationDepth, RevocationPolicy,
        StillTrusted, TrustId, TrustPlan, UnknownStatus,
    },
};

/// The window of a recycle, when the file says none.
const SPREAD: std::time::Duration = std::time::Duration::from_secs(10);

impl Compiler<'_> {
    pub(super) fn all_identities(&self) -> Option<Vec<IdentityPlan>> {
        if self.document.identities.is_invalid() {
            return None;
        }
        whole(self.document.identities.value().into_iter().flatten().map(|(name, identity)| {
            let identity = identity.given()?;
            let source = self.source(identity);
            let expect = self.expectation(&identity.value.expect);
            Some(IdentityPlan { name: name.clone(), source: source?, expect: expect? })
        }))
    }

    /// Exactly one form: a pair of files, or a bundle.
    fn source(&self, identity: &Located<Identity>) -> Option<IdentitySource> {
        const FORMS: &str = "`certificate` and `private_key`, or `bundle` alone";
        let Identity { certificate, private_key, bundle, .. } = &identity.value;
        let wrong = match (certificate.is_absent(), private_key.is_absent(), bundle.is_absent()) {
            (true, true, true) => "an identity without files",
            (false, true, true) => "a `certificate` without its `private_key`",
            (true, false, true) => "a `private_key` without its `certificate`",
            (true, true, false) => return Some(IdentitySource::Bundle(bundle.value()?.clone())),
            (false, false, true) => {
                let pair = (certificate.value()?.clone(), private_key.value()?.clone());
                return Some(IdentitySource::Pair { certificate: pair.0, private_key: pair.1 });
            }
            (_, _, false) => "a `bundle` and single files beside it",
        };
        self.report(&identity.spot, Fault::new(wrong, FORMS));
        None
    }

    fn expectation(&self, expect: &Field<Expect>) -> Option<Expectation> {
        let expect = match expect {
            Field::Absent => return Some(Expectation::default()),
            Field::Invalid => return None,
            Field::Given(expect) => &expect.value,
        };
        let chains_to = self.refer_if_given(&self.trust, &expect.chains_to);
        let names = match &expect.names {
            Field::Absent => Vec::new(),
            Field::Invalid => return None,
            Field::Given(names) => names.value.iter().map(|name| name.value.clone()).collect(),
        };
        Some(Expectation { names, chains_to: chains_to?.map(TrustId) })
    }

    pub(super) fn all_trust(&self, reload: &ReloadSettings) -> Option<Vec<TrustPlan>> {
        if self.document.trust.is_invalid() {
            return None;
        }
        whole(self.document.trust.value().into_iter().flatten().map(|(name, trust)| {
            let trust = trust.given()?;
            let still_trusted = self.still_trusted(trust, reload);
            let paths = |lists: &Located<Vec<Located<PathBuf>>>| lists.value.iter().map(|l| l.value.clone()).collect();
            Some(TrustPlan {
                name: name.clone(),
                bundle: trust.value.bundle.value()?.clone(),
                revocation_lists: match &trust.value.revocation_lists {
                    Field::Absent => Vec::new(),
                    Field::Invalid => return None,
                    Field::Given(lists) => paths(lists),
                },
                revocation: self.revocation(trust)?,
                still_trusted: still_trusted?,
            })
        }))
    }

    fn revocation(&self, trust: &Located<Trust>) -> Option<RevocationPolicy> {
        use material::{ExpiredLists as Expired, RevocationDepth as Depth, UnknownStatus as Unknown};
        let revocation = match &trust.value.revocation {
            Field::Invalid => return None,
            Field::Absent => return Some(RevocationPolicy::default()),
            Field::Given(revocation) => revocation,
        };
        if trust.value.revocation_lists.value().is_none_or(Vec::is_empty) && !trust.value.revocation_lists.is_invalid()
        {
            let fault = Fault::new("`revocation` has no meaning without `revocation_lists`", "both, or none of them");
            self.report(&revocation.spot, fault);
        }
        let material::Revocation { expired, depth, unknown } = &revocation.value;
        Some(RevocationPolicy {
            expired: match expired.or(Expired::Use) {
                Expired::Use => ExpiredLists::Use,
                Expired::Refuse => ExpiredLists::Refuse,
            },
            depth: match depth.or(Depth::Chain) {
                Depth::Chain => RevocationDepth::Chain,
                Depth::Leaf => RevocationDepth::Leaf,
            },
            unknown: match unknown.or(Unknown::Accept) {
                Unknown::Accept => UnknownStatus::Accept,
                Unknown::Refuse => UnknownStatus::Refuse,
            },
        })
    }

    fn still_trusted(&self, trust: &Located<Trust>, reload: &ReloadSettings) -> Option<StillTrusted> {
        let contraction = match &trust.value.on_contraction {
            Field::Invalid => return None,
            Field::Absent => None,
            Field::Given(contraction) => Some(&contraction.value),
        };
        let choice = contraction.map_or(&Field::Absent, |contraction| &contraction.still_trusted);
        let spread = contraction.map_or(&Field::Absent, |contraction| &contraction.spread);
        if choice.or(material::StillTrusted::Recycle) == material::StillTrusted::Keep {
            if let Some(spread) = spread.given() {
                let fault = Fault::new("`spread` has no meaning with `still_trusted: keep`", "one of the two");
                self.report(&spread.spot, fault);
            }
            return Some(StillTrusted::Keep);
        }
        let window = spread.or(SPREAD);
        let before = reload.poll + reload.debounce_max;
        // More than the bound without any spread is a problem of `reload`, reported there.
        if before <= RELOAD_BOUND && before + window > RELOAD_BOUND && !spread.is_invalid() {
            let spot = spread.given().map_or(&trust.spot, |spread| &spread.spot);
            let message = format!(
                "`poll` {}, `debounce_max` {} and `spread` {} add up to {}",
                duration::text(reload.poll),
                duration::text(reload.debounce_max),
                duration::text(window),
                duration::text(before + window)
            );
            let allowed =
                format!("at most {} together, so that a contraction is over in 30s", duration::text(RELOAD_BOUND));
            self.report(spot, Fault::new(message, allowed));
        }
        Some(StillTrusted::Recycle { spread: window })
    }
}
