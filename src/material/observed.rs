//! Materials and their roles as they are observed: which roles a plan has, what each stands on, and what `/status` and
//! `iris check` tell of each material. Facts only, never a key.

mod facts;
mod tell;

use std::collections::BTreeSet;

pub use facts::facts;
pub use tell::{Observed, tell_changes, tell_loaded};

use super::MaterialId;
use crate::{
    observe::{
        ComponentSetup, Setup,
        labels::{Material as Kind, Transport},
    },
    plan::{Destination, ListenerEnd, ListenerPlan, Plan, TrustId, UpstreamEnd, UpstreamPlan, Verification},
};

/// What the observer of a plan is told before the start.
pub fn setup(plan: &Plan) -> Setup {
    let development = plan.development.allow_remote_plaintext || plan.development.allow_unverified_peers;
    let component = |name: &str, transport, address, roles: Vec<(Kind, Vec<MaterialId>)>| ComponentSetup {
        name: name.to_owned(),
        transport,
        address,
        materials: roles.into_iter().map(|(kind, _)| kind).collect(),
    };
    let listener = |listener: &ListenerPlan| {
        let (transport, scheme) = match listener.end {
            ListenerEnd::Quic(_) => (Transport::Quic, "quic://"),
            ListenerEnd::LoopbackQuic => (Transport::QuicPlaintext, "quic+plaintext://"),
            ListenerEnd::Tls(_) => (Transport::Tls, "tls://"),
            ListenerEnd::Tcp => (Transport::Tcp, "tcp://"),
            ListenerEnd::Unix { .. } => (Transport::Unix, "unix:"),
        };
        let address = format!("{scheme}{}", listener.place);
        component(&listener.name, transport, address, listener_roles(plan, listener))
    };
    let upstream = |upstream: &UpstreamPlan| {
        let (transport, address) = match &upstream.end {
            UpstreamEnd::Quic { destination: Destination::Fixed(to), .. } => (Transport::Quic, format!("quic://{to}")),
            UpstreamEnd::Quic { destination: Destination::Requested(_), .. } => {
                (Transport::Quic, "quic://requested".to_owned())
            }
            UpstreamEnd::LoopbackQuic(to) => (Transport::QuicPlaintext, format!("quic+plaintext://{to}")),
            UpstreamEnd::Tls { to, .. } => (Transport::Tls, format!("tls://{to}")),
            UpstreamEnd::Tcp(to) => (Transport::Tcp, format!("tcp://{to}")),
            UpstreamEnd::Unix(path) => (Transport::Unix, format!("unix:{}", path.display())),
        };
        component(&upstream.name, transport, address, upstream_roles(plan, upstream))
    };
    Setup {
        listeners: plan.listeners.iter().map(listener).collect(),
        upstreams: plan.upstreams.iter().map(upstream).collect(),
        development,
        ..Setup::default()
    }
}

fn listener_roles(plan: &Plan, listener: &ListenerPlan) -> Vec<(Kind, Vec<MaterialId>)> {
    let Some(tls) = listener.end.tls() else { return Vec::new() };
    let auths = listener.routes.iter().filter_map(|route| route.client_auth.as_ref().or(tls.client_auth.as_ref()));
    let trust: BTreeSet<TrustId> = auths.map(|auth| auth.trust).collect();
    let mut roles = vec![(Kind::ServerIdentity, tls.identities.iter().map(|id| MaterialId::Identity(*id)).collect())];
    roles.extend(trust_roles(plan, &trust));
    roles
}

fn upstream_roles(plan: &Plan, upstream: &UpstreamPlan) -> Vec<(Kind, Vec<MaterialId>)> {
    let Some(tls) = upstream.end.tls() else { return Vec::new() };
    let trust = match tls.verification {
        Verification::Trust(id) => BTreeSet::from([id]),
        Verification::Disabled => BTreeSet::new(),
    };
    let mut roles = trust_roles(plan, &trust);
    roles.extend(tls.identity.map(|id| (Kind::ClientIdentity, vec![MaterialId::Identity(id)])));
    roles
}

fn trust_roles(plan: &Plan, trust: &BTreeSet<TrustId>) -> Vec<(Kind, Vec<MaterialId>)> {
    let bundles: Vec<_> = trust.iter().map(|id| MaterialId::Trust(*id)).collect();
    let with_lists = trust.iter().filter(|id| !plan.trust(**id).revocation_lists.is_empty());
    let lists: Vec<_> = with_lists.map(|id| MaterialId::Revocation(*id)).collect();
    [(Kind::Trust, bundles), (Kind::Revocation, lists)]
        .into_iter()
        .filter(|(_, materials)| !materials.is_empty())
        .collect()
}

fn used_by(plan: &Plan, id: MaterialId) -> Vec<String> {
    let uses = |roles: Vec<(Kind, Vec<MaterialId>)>| roles.iter().any(|(_, materials)| materials.contains(&id));
    let listeners = plan.listeners.iter().filter(|one| uses(listener_roles(plan, one))).map(|one| one.name.clone());
    let upstreams = plan.upstreams.iter().filter(|one| uses(upstream_roles(plan, one))).map(|one| one.name.clone());
    listeners.chain(upstreams).collect()
}

#[cfg(test)]
mod tests;
