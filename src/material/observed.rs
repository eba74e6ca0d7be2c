//! Materials and their roles as they are observed: which roles a plan has, what each stands on, and what `/status` and
//! `iris check` tell of each material. Facts only, never a key.

use std::{collections::BTreeSet, time::SystemTime};

use super::{
    CertificateFacts, Generation, Generations, MaterialId, Rejection, Warning,
    roles::{listener_tls, upstream_tls},
};
use crate::{
    observe::{
        ComponentSetup, Lifetime, Observer, Role, Setup, Standing,
        component::Component,
        escape,
        labels::{Material as Kind, Transport},
        status::{self, MaterialFacts, MaterialKind, Refusal},
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
            ListenerEnd::Quic(_) => (Transport::Quic, "quic"),
            ListenerEnd::LoopbackQuic => (Transport::QuicPlaintext, "quic+plaintext"),
        };
        let address = format!("{scheme}://{}", listener.address);
        component(&listener.name, transport, address, listener_roles(plan, listener))
    };
    let upstream = |upstream: &UpstreamPlan| {
        let (transport, address) = match &upstream.end {
            UpstreamEnd::Quic { destination: Destination::Fixed(to), .. } => (Transport::Quic, format!("quic://{to}")),
            UpstreamEnd::Quic { destination: Destination::Requested(_), .. } => {
                (Transport::Quic, "quic://requested".to_owned())
            }
            UpstreamEnd::LoopbackQuic(to) => (Transport::QuicPlaintext, format!("quic+plaintext://{to}")),
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

/// Tells the observer what every role stands on after the first load.
pub fn tell_loaded(observer: &Observer, plan: &Plan, generations: &Generations, now: SystemTime) {
    let tell = |component: &Component, roles: Vec<(Kind, Vec<MaterialId>)>| {
        for (kind, materials) in roles {
            if let Some(role) = component.role(kind) {
                tell_role(role, &materials, generations, now);
            }
        }
    };
    for (position, listener) in plan.listeners.iter().enumerate() {
        tell(observer.listener(position), listener_roles(plan, listener));
    }
    for (position, upstream) in plan.upstreams.iter().enumerate() {
        tell(observer.upstream(position), upstream_roles(plan, upstream));
    }
    let facts = facts(plan, generations, now);
    for material in &facts {
        log(material);
    }
    observer.set_materials(facts);
}

/// One line: what is in use of a material, or why nothing is.
fn log(material: &MaterialFacts) {
    let (kind, name, component) = (material.kind.as_str(), &material.name, material.used_by.join(","));
    if let Some(refusal) = &material.refusal {
        let (reason, file) = (refusal.reason, &refusal.file);
        let detail = escape::text(&refusal.detail, escape::TEXT);
        tracing::warn!(component, material = kind, name, result = "rejected", reason, file, detail, "material refused");
    }
    let Some(life) = material.standing.in_use else { return };
    let all = |part: fn(&status::CertificateFacts) -> &String| {
        escape::names(&material.certificates.iter().map(part).collect::<Vec<_>>())
    };
    let names: Vec<&String> = material.certificates.iter().flat_map(|certificate| &certificate.names).collect();
    tracing::info!(
        component,
        material = kind,
        name,
        result = "success",
        sequence = material.sequence,
        subject = all(|certificate| &certificate.subject),
        names = escape::names(&names),
        serial = all(|certificate| &certificate.serial),
        sha256 = all(|certificate| &certificate.sha256),
        not_before = status::rfc3339(life.begins),
        not_after = status::rfc3339(life.first_end),
        warnings = (!material.warnings.is_empty()).then(|| material.warnings.join(",")),
        "material in use"
    );
}

/// What may be told of every material. A refusal is dated `now`: it was just met.
pub fn facts(plan: &Plan, generations: &Generations, now: SystemTime) -> Vec<MaterialFacts> {
    MaterialId::all(plan).map(|id| facts_of(plan, generations, id, now)).collect()
}

/// A role is filled when all its materials are there: a listener with several identities never does without one.
fn tell_role(role: &Role, materials: &[MaterialId], generations: &Generations, now: SystemTime) {
    let lives: Option<Vec<Lifetime>> = materials.iter().map(|id| lifetime(generations, *id)).collect();
    if let Some(life) = lives.and_then(|lives| lives.into_iter().reduce(Lifetime::and)) {
        role.loaded(life, now);
        return;
    }
    // Only a refusal keeps a material away. One that is merely early does not matter beside one that is wrong.
    let refused: Vec<&Rejection> = materials.iter().filter_map(|id| generations.rejection(*id)).collect();
    match refused.iter().find(|rejection| rejection.starts.is_none()).or(refused.first()) {
        Some(Rejection { starts: Some(starts), .. }) => role.held(*starts),
        Some(rejection) => role.rejected(&rejection.to_string()),
        None => {}
    }
}

fn listener_roles(plan: &Plan, listener: &ListenerPlan) -> Vec<(Kind, Vec<MaterialId>)> {
    let Some(tls) = listener_tls(&listener.end) else { return Vec::new() };
    let auths = listener.routes.iter().filter_map(|route| route.client_auth.as_ref().or(tls.client_auth.as_ref()));
    let trust: BTreeSet<TrustId> = auths.map(|auth| auth.trust).collect();
    let mut roles = vec![(Kind::ServerIdentity, tls.identities.iter().map(|id| MaterialId::Identity(*id)).collect())];
    roles.extend(trust_roles(plan, &trust));
    roles
}

fn upstream_roles(plan: &Plan, upstream: &UpstreamPlan) -> Vec<(Kind, Vec<MaterialId>)> {
    let Some(tls) = upstream_tls(&upstream.end) else { return Vec::new() };
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

/// When what is in use of a material begins and ends.
fn lifetime(generations: &Generations, id: MaterialId) -> Option<Lifetime> {
    match id {
        MaterialId::Identity(id) => {
            let facts = &generations.identity(id)?.value.facts;
            Some(Lifetime::whole(facts.not_before, facts.not_after))
        }
        MaterialId::Trust(id) => {
            let bundle = &generations.trust(id)?.value;
            let first = bundle.anchors.iter().min_by_key(|anchor| anchor.facts.not_after)?;
            Some(Lifetime {
                begins: first.facts.not_before,
                first_end: bundle.earliest_end,
                last_end: bundle.latest_end,
            })
        }
        MaterialId::Revocation(id) => {
            let lists = &generations.revocation(id)?.value;
            let first = lists.lists.iter().min_by_key(|list| list.next_update)?;
            Some(Lifetime::whole(first.this_update, lists.next_update))
        }
    }
}

fn facts_of(plan: &Plan, generations: &Generations, id: MaterialId, now: SystemTime) -> MaterialFacts {
    let kind = match id {
        MaterialId::Identity(_) => MaterialKind::Identity,
        MaterialId::Trust(_) => MaterialKind::Trust,
        MaterialId::Revocation(_) => MaterialKind::Revocation,
    };
    let rejection = generations.rejection(id);
    let mut facts = MaterialFacts {
        kind,
        name: id.name(plan).to_owned(),
        source: "never read",
        sequence: 0,
        read_at: None,
        standing: Standing {
            in_use: lifetime(generations, id),
            held_until: rejection.and_then(|rejection| rejection.starts),
            refused: rejection.filter(|rejection| rejection.starts.is_none()).map(ToString::to_string),
        },
        certificates: Vec::new(),
        refusal: rejection.map(|rejection| refusal(rejection, now)),
        warnings: Vec::new(),
        used_by: used_by(plan, id),
    };
    match id {
        MaterialId::Identity(id) => {
            if let Some(generation) = generations.identity(id) {
                facts.certificates.push(certificate(&generation.value.facts));
                describe(&mut facts, generation, &generation.value.warnings);
            }
        }
        MaterialId::Trust(id) => {
            if let Some(generation) = generations.trust(id) {
                facts.certificates.extend(generation.value.anchors.iter().map(|anchor| certificate(&anchor.facts)));
                describe(&mut facts, generation, &generation.value.warnings);
            }
        }
        MaterialId::Revocation(id) => {
            if let Some(generation) = generations.revocation(id) {
                describe(&mut facts, generation, &generation.value.warnings);
            }
        }
    }
    facts
}

/// Adds what is known of any generation.
fn describe<T>(facts: &mut MaterialFacts, generation: &Generation<T>, warnings: &[Warning]) {
    facts.source = if warnings.contains(&Warning::PlainFiles) { "plain files" } else { "directory link" };
    facts.sequence = generation.sequence;
    facts.read_at = Some(generation.read_at);
    facts.warnings = warnings.iter().map(|warning| warning.as_str()).collect();
}

fn refusal(rejection: &Rejection, at: SystemTime) -> Refusal {
    Refusal {
        reason: rejection.class.as_str(),
        file: rejection.file.display().to_string(),
        detail: rejection.detail.clone(),
        at,
    }
}

fn certificate(facts: &CertificateFacts) -> status::CertificateFacts {
    let ips = facts.names.ip.iter().map(ToString::to_string);
    status::CertificateFacts {
        subject: facts.subject.clone(),
        names: facts.names.dns.iter().chain(&facts.names.uri).cloned().chain(ips).collect(),
        serial: facts.serial.clone(),
        sha256: facts.sha256.clone(),
        not_before: facts.not_before,
        not_after: facts.not_after,
    }
}

fn used_by(plan: &Plan, id: MaterialId) -> Vec<String> {
    let uses = |roles: Vec<(Kind, Vec<MaterialId>)>| roles.iter().any(|(_, materials)| materials.contains(&id));
    let listeners = plan.listeners.iter().filter(|one| uses(listener_roles(plan, one))).map(|one| one.name.clone());
    let upstreams = plan.upstreams.iter().filter(|one| uses(upstream_roles(plan, one))).map(|one| one.name.clone());
    listeners.chain(upstreams).collect()
}

#[cfg(test)]
mod tests;
