//! What the observer is told when materials were loaded or have changed, and the log with it.

use std::{collections::BTreeMap, time::SystemTime};

use super::{
    facts::{facts_of, lifetime},
    listener_roles, upstream_roles,
};
use crate::{
    material::{Generations, MaterialId, Rejection, reload::Change},
    observe::{
        Lifetime, Observer, Role, escape,
        status::{self, MaterialFacts},
    },
    plan::Plan,
};

/// What is told of.
#[derive(Debug)]
pub struct Observed<'a> {
    /// What is in use, and what is refused.
    pub generations: &'a Generations,
    /// What became otherwise.
    pub changes: &'a [(MaterialId, Change)],
    /// The last refusal of each material, and when it was met.
    pub refusals: BTreeMap<MaterialId, (Rejection, SystemTime)>,
}

/// Tells what every role stands on after the first load, which is no reload.
pub fn tell_loaded(observer: &Observer, plan: &Plan, observed: Observed<'_>, now: SystemTime) {
    tell(observer, plan, &observed, now, Role::loaded);
}

/// Tells what became of changed files.
pub fn tell_changes(observer: &Observer, plan: &Plan, observed: Observed<'_>, now: SystemTime) {
    tell(observer, plan, &observed, now, Role::reloaded);
}

type Activate = fn(&Role, Lifetime, SystemTime);

fn tell(observer: &Observer, plan: &Plan, observed: &Observed<'_>, now: SystemTime, activate: Activate) {
    let refusal = |id| observed.refusals.get(&id).map(|(rejection, at)| (rejection, *at));
    let facts_of = |id| facts_of(plan, observed.generations, id, refusal(id));
    // Before any count moves: whoever is alarmed by one finds the reason in the row.
    observer.set_materials(MaterialId::all(plan).map(facts_of).collect());
    let listeners = plan.listeners.iter().enumerate();
    let listeners = listeners.map(|(position, plan_of)| (observer.listener(position), listener_roles(plan, plan_of)));
    let upstreams = plan.upstreams.iter().enumerate();
    let upstreams = upstreams.map(|(position, plan_of)| (observer.upstream(position), upstream_roles(plan, plan_of)));
    for (component, roles) in listeners.chain(upstreams) {
        for (kind, materials) in roles {
            if let Some(role) = component.role(kind) {
                tell_role(role, &materials, observed, now, activate);
            }
        }
    }
    for (id, change) in observed.changes {
        log(&facts_of(*id), *change);
    }
}

/// Counts what changed of a role's materials, then says how it stands. It is filled when all its materials are there: a
/// listener with several identities never does without one.
fn tell_role(role: &Role, materials: &[MaterialId], observed: &Observed<'_>, now: SystemTime, activate: Activate) {
    let (generations, mut touched, mut counted) = (observed.generations, false, false);
    let lives: Option<Vec<Lifetime>> = materials.iter().map(|id| lifetime(generations, *id)).collect();
    let life = lives.and_then(|lives| lives.into_iter().reduce(Lifetime::and));
    // How long lists let somebody pass depends on the anchors beside them.
    let anchors_changed = |id: &MaterialId| match id {
        MaterialId::Revocation(bundle) => observed.changes.contains(&(MaterialId::Trust(*bundle), Change::Adopted)),
        _ => false,
    };
    if let Some(life) = life.filter(|_| materials.iter().any(anchors_changed)) {
        role.lasts(life);
    }
    for (id, change) in observed.changes.iter().filter(|(id, _)| materials.contains(id)) {
        touched = true;
        match (change, life) {
            (Change::Adopted, Some(life)) => activate(role, life, now),
            (Change::Refused { first: true }, _) => {
                counted = true;
                let rejection =
                    generations.rejection(*id).or(observed.refusals.get(id).map(|(rejection, _)| rejection));
                role.rejected(&rejection.map(ToString::to_string).unwrap_or_default());
            }
            _ => {}
        }
    }
    if !touched {
        return;
    }
    // One that is merely early does not matter beside one that is wrong.
    let refused: Vec<&Rejection> = materials.iter().filter_map(|id| generations.rejection(*id)).collect();
    match refused.iter().find(|rejection| rejection.starts.is_none()).or(refused.first()) {
        Some(Rejection { starts: Some(starts), .. }) => role.held(*starts),
        Some(_) if counted => {}
        Some(rejection) => role.still_rejected(&rejection.to_string()),
        None => role.settled(),
    }
}

/// One line about a change.
fn log(material: &MaterialFacts, change: Change) {
    match change {
        Change::Adopted => log_adopted(material),
        Change::Refused { first: true } => log_refused(material),
        Change::Refused { first: false } => {}
        Change::Held => log_held(material),
        Change::Settled => {
            let (kind, name, component) = (material.kind.as_str(), &material.name, material.used_by.join(","));
            tracing::info!(component, material = kind, name, "what is on disk is what is in use again");
        }
    }
}

fn log_refused(material: &MaterialFacts) {
    let (kind, name, component) = (material.kind.as_str(), &material.name, material.used_by.join(","));
    let Some(refusal) = &material.refusal else { return };
    let (reason, file) = (refusal.reason, &refusal.file);
    let detail = escape::text(&refusal.detail, escape::TEXT);
    tracing::warn!(component, material = kind, name, result = "rejected", reason, file, detail, "material refused");
}

fn log_held(material: &MaterialFacts) {
    let (kind, name, component) = (material.kind.as_str(), &material.name, material.used_by.join(","));
    let starts = material.standing.held_until.map(status::rfc3339);
    tracing::info!(component, material = kind, name, result = "held", starts, "material waits for its start");
}

fn log_adopted(material: &MaterialFacts) {
    let (kind, name, component) = (material.kind.as_str(), &material.name, material.used_by.join(","));
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
