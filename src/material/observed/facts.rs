//! What `/status` and `iris check` tell of each material.

use std::time::SystemTime;

use super::used_by;
use crate::{
    material::{CertificateFacts, Generation, Generations, MaterialId, Rejection, Warning},
    observe::{
        Lifetime, Standing,
        status::{self, MaterialFacts, MaterialKind, Refusal},
    },
    plan::Plan,
};

/// What may be told of every material after a single load. A refusal is dated `now`: it was just met.
pub fn facts(plan: &Plan, generations: &Generations, now: SystemTime) -> Vec<MaterialFacts> {
    let refused = |id| generations.rejection(id).map(|rejection| (rejection, now));
    MaterialId::all(plan).map(|id| facts_of(plan, generations, id, refused(id))).collect()
}

/// When what is in use of a material begins and ends.
pub(super) fn lifetime(generations: &Generations, id: MaterialId) -> Option<Lifetime> {
    match id {
        MaterialId::Identity(id) => {
            let facts = &generations.identity(id)?.value.facts;
            Some(Lifetime::whole(facts.not_before, facts.not_after))
        }
        MaterialId::Trust(id) => {
            let bundle = &generations.trust(id)?.value;
            let first = bundle.anchors.iter().min_by_key(|anchor| anchor.facts.not_after);
            Some(Lifetime {
                // Without any, since all have ended, it does not matter.
                begins: first.map_or(bundle.earliest_end, |first| first.facts.not_before),
                first_end: bundle.earliest_end,
                last_end: bundle.latest_end,
                unusable_from: Some(bundle.latest_end),
            })
        }
        MaterialId::Revocation(id) => {
            let lists = &generations.revocation(id)?.value;
            let first = lists.lists.iter().min_by_key(|list| list.next_update)?;
            let shut = lists.shuts_out_all_from(&generations.trust(id)?.value);
            Some(Lifetime::whole(first.this_update, lists.next_update).unusable_from(shut))
        }
    }
}

/// What may be told of one material, whose last refusal is given.
pub(super) fn facts_of(
    plan: &Plan,
    generations: &Generations,
    id: MaterialId,
    refused: Option<(&Rejection, SystemTime)>,
) -> MaterialFacts {
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
        refusal: refused.map(|(rejection, at)| refusal(rejection, at)),
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
