//! Materials in words: log lines and status rows. Subjects, names, serials, digests and dates; never PEM or keys.

use std::time::SystemTime;

use crate::{
    material::{CertificateFacts, Generations, MaterialId, Warning},
    observe::{
        Lifetime, Standing,
        status::{self, MaterialFacts, MaterialKind, Refusal, rfc3339},
    },
    plan::{Plan, UpstreamEnd, Verification},
};

/// When what is in use of a material begins and ends.
pub(super) fn lifetime(generations: &Generations, id: MaterialId) -> Option<Lifetime> {
    match id {
        MaterialId::Identity(id) => {
            let facts = &generations.identity(id)?.value.facts;
            Some(Lifetime::whole(facts.not_before, facts.not_after))
        }
        MaterialId::Trust(id) => {
            let bundle = &generations.trust(id)?.value;
            let begins = bundle.anchors.iter().map(|anchor| anchor.facts.not_before).max();
            Some(Lifetime {
                begins: begins.unwrap_or(SystemTime::UNIX_EPOCH),
                first_end: bundle.earliest_end,
                last_end: bundle.latest_end,
            })
        }
        MaterialId::Revocation(id) => {
            let lists = &generations.revocation(id)?.value;
            let begins = lists.lists.iter().map(|list| list.this_update).max();
            Some(Lifetime::whole(begins.unwrap_or(SystemTime::UNIX_EPOCH), lists.next_update))
        }
    }
}

/// One line for what is in use, one for what is refused, one for each warning.
pub(super) fn log(plan: &Plan, generations: &Generations, id: MaterialId) {
    let (kind, name) = (kind(id), id.name(plan));
    for facts in certificates(generations, id) {
        tracing::info!(
            material = name,
            kind = label(kind),
            result = "loaded",
            subject = facts.subject,
            names = names(facts).join(", "),
            serial = facts.serial,
            sha256 = facts.sha256,
            not_before = rfc3339(facts.not_before),
            not_after = rfc3339(facts.not_after),
            "material in use"
        );
    }
    for warning in warnings(generations, id) {
        tracing::warn!(material = name, kind = label(kind), %warning, "material in use, with a warning");
    }
    if let Some(rejection) = generations.rejection(id) {
        let reason = rejection.class.as_str();
        tracing::error!(material = name, kind = label(kind), result = "rejected", reason, "{rejection}");
    }
}

/// The row of `/status`.
pub(super) fn facts(plan: &Plan, generations: &Generations, id: MaterialId, now: SystemTime) -> MaterialFacts {
    let rejection = generations.rejection(id);
    let (sequence, read_at) = match id {
        MaterialId::Identity(id) => generations.identity(id).map(|found| (found.sequence, found.read_at)),
        MaterialId::Trust(id) => generations.trust(id).map(|found| (found.sequence, found.read_at)),
        MaterialId::Revocation(id) => generations.revocation(id).map(|found| (found.sequence, found.read_at)),
    }
    .unzip();
    let plain = warnings(generations, id).contains(&Warning::PlainFiles);
    MaterialFacts {
        kind: kind(id),
        name: id.name(plan).to_owned(),
        source: match (sequence.is_some(), plain) {
            (false, _) => "unread",
            (true, true) => "plain files",
            (true, false) => "directory link",
        },
        sequence: sequence.unwrap_or(0),
        read_at,
        standing: Standing {
            in_use: lifetime(generations, id),
            held_until: rejection.and_then(|rejection| rejection.starts),
            refused: rejection.filter(|rejection| rejection.starts.is_none()).map(ToString::to_string),
        },
        certificates: certificates(generations, id)
            .into_iter()
            .map(|facts| status::CertificateFacts {
                subject: facts.subject.clone(),
                names: names(facts),
                serial: facts.serial.clone(),
                sha256: facts.sha256.clone(),
                not_before: facts.not_before,
                not_after: facts.not_after,
            })
            .collect(),
        refusal: rejection.map(|rejection| Refusal {
            reason: rejection.class.as_str(),
            detail: rejection.to_string(),
            at: now,
        }),
        used_by: used_by(plan, id),
    }
}

fn kind(id: MaterialId) -> MaterialKind {
    match id {
        MaterialId::Identity(_) => MaterialKind::Identity,
        MaterialId::Trust(_) => MaterialKind::Trust,
        MaterialId::Revocation(_) => MaterialKind::Revocation,
    }
}

fn label(kind: MaterialKind) -> &'static str {
    match kind {
        MaterialKind::Identity => "identity",
        MaterialKind::Trust => "trust",
        MaterialKind::Revocation => "revocation",
    }
}

fn certificates(generations: &Generations, id: MaterialId) -> Vec<&CertificateFacts> {
    match id {
        MaterialId::Identity(id) => generations.identity(id).map(|found| &found.value.facts).into_iter().collect(),
        MaterialId::Trust(id) => {
            generations.trust(id).iter().flat_map(|found| &found.value.anchors).map(|anchor| &anchor.facts).collect()
        }
        MaterialId::Revocation(_) => Vec::new(),
    }
}

fn warnings(generations: &Generations, id: MaterialId) -> &[Warning] {
    match id {
        MaterialId::Identity(id) => generations.identity(id).map(|found| found.value.warnings.as_slice()),
        MaterialId::Trust(id) => generations.trust(id).map(|found| found.value.warnings.as_slice()),
        MaterialId::Revocation(id) => generations.revocation(id).map(|found| found.value.warnings.as_slice()),
    }
    .unwrap_or_default()
}

fn names(facts: &CertificateFacts) -> Vec<String> {
    let ip = facts.names.ip.iter().map(ToString::to_string);
    facts.names.dns.iter().cloned().chain(facts.names.uri.iter().cloned()).chain(ip).collect()
}

/// The components that a material serves.
fn used_by(plan: &Plan, id: MaterialId) -> Vec<String> {
    let listeners = plan.listeners.iter().filter(|listener| match id {
        MaterialId::Identity(id) => material_identities(&listener.end).contains(&id),
        MaterialId::Trust(id) | MaterialId::Revocation(id) => listener.client_auths().any(|auth| auth.trust == id),
    });
    let upstreams = plan.upstreams.iter().filter(|upstream| match (&upstream.end, id) {
        (UpstreamEnd::Quic { tls, .. }, MaterialId::Identity(id)) => tls.identity == Some(id),
        (UpstreamEnd::Quic { tls, .. }, MaterialId::Trust(id) | MaterialId::Revocation(id)) => {
            tls.verification == Verification::Trust(id)
        }
        (UpstreamEnd::LoopbackQuic(_), _) => false,
    });
    let listeners = listeners.map(|listener| listener.name.clone());
    listeners.chain(upstreams.map(|upstream| upstream.name.clone())).collect()
}

fn material_identities(end: &crate::plan::ListenerEnd) -> &[crate::plan::IdentityId] {
    crate::material::roles::listener_tls(end).map_or(&[], |tls| &tls.identities)
}
