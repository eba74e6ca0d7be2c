//! What is allowed and still worth saying: departures from the rules that the file asks for, and what nothing uses.
//! `iris check` prints them, and `iris run` logs them at its start. They never fail a configuration.

use std::fmt;

use super::{IdentityId, ListenerPlan, Plan, StillTrusted, TlsVersion, TrustId, UpstreamId, Verification};

/// One thing worth saying about a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A YAML path; listeners and upstreams stand there by name.
    pub path: String,
    /// What there is to know.
    pub message: &'static str,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl Plan {
    /// Everything worth saying about the plan, departures from the rules first.
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices = self.departures();
        notices.extend(self.unused());
        notices
    }

    /// The trust bundles that the plan uses: in a role, or to judge an identity.
    fn trust_in_use(&self) -> Vec<TrustId> {
        let mut used: Vec<_> = self.identities.iter().filter_map(|identity| identity.expect.chains_to).collect();
        used.extend(self.listeners.iter().flat_map(ListenerPlan::client_auths).map(|auth| auth.trust));
        for upstream in &self.upstreams {
            if let Some(Verification::Trust(id)) = upstream.end.tls().map(|tls| tls.verification) {
                used.push(id);
            }
        }
        used
    }

    fn identities_in_use(&self) -> Vec<IdentityId> {
        let shown = self.listeners.iter().filter_map(|listener| listener.end.tls()).flat_map(|tls| &tls.identities);
        let client = self.upstreams.iter().filter_map(|upstream| upstream.end.tls()?.identity);
        shown.copied().chain(client).collect()
    }

    fn departures(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut say = |path: String, message| notices.push(Notice { path, message });
        if self.development.allow_remote_plaintext {
            say("development.allow_remote_plaintext".into(), "plaintext may leave this machine");
        }
        if self.development.allow_unverified_peers {
            say("development.allow_unverified_peers".into(), "peers may go unverified");
        }
        for upstream in &self.upstreams {
            if upstream.end.tls().is_some_and(|tls| tls.verification == Verification::Disabled) {
                say(format!("upstreams.{}.tls.verification", upstream.name), "its peers are not verified");
            }
        }
        let policies = self.listeners.iter().filter_map(|one| Some(("listeners", &one.name, &one.end.tls()?.policy)));
        let dialled = self.upstreams.iter().filter_map(|one| Some(("upstreams", &one.name, &one.end.tls()?.policy)));
        for (section, name, policy) in policies.chain(dialled) {
            if policy.versions.contains(&TlsVersion::Tls12) {
                say(
                    format!("{section}.{name}.tls.versions"),
                    "TLS 1.2 is spoken, which shows certificates to whoever listens",
                );
            }
        }
        for trust in &self.trust {
            if trust.still_trusted == StillTrusted::Keep {
                say(
                    format!("trust.{}.on_contraction.still_trusted", trust.name),
                    "connections outlive a contraction, which departs from the rule that each is made again",
                );
            }
        }
        notices
    }

    fn unused(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut say = |path: String, message| notices.push(Notice { path, message });
        let identities = self.identities_in_use();
        for (at, identity) in self.identities.iter().enumerate() {
            if !identities.contains(&IdentityId(at)) {
                say(format!("identities.{}", identity.name), "no listener and no upstream shows it");
            }
        }
        let trust = self.trust_in_use();
        for (at, bundle) in self.trust.iter().enumerate() {
            if !trust.contains(&TrustId(at)) {
                say(format!("trust.{}", bundle.name), "nobody is judged by it");
            }
        }
        for (at, upstream) in self.upstreams.iter().enumerate() {
            let mut routes = self.listeners.iter().flat_map(|listener| &listener.routes);
            if !routes.any(|route| route.upstream == UpstreamId(at)) {
                say(format!("upstreams.{}", upstream.name), "no listener leads to it");
            }
        }
        notices
    }
}
