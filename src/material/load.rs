//! From files to generations: read, parse, check. Each material by itself: a bad one is a refusal, never an abort.

use std::{path::Path, time::SystemTime};

use super::{
    generation::{Built, Generations, MaterialId},
    identity::{self, IdentityFiles, Requirements},
    read::{self, ReadPolicy, Snapshot},
    reason::{Fault, Rejection, Warning},
    revocation,
    roles::Roles,
    source, trust,
};
use crate::plan::{IdentityId, Plan, TrustId};

/// Loads every material of a plan once. Blocks: never on a network thread.
pub fn load(plan: &Plan, now: SystemTime) -> Generations {
    let mut generations = Generations::default();
    for id in MaterialId::all(plan) {
        let outcome = load_one(plan, &generations, id, now);
        generations.record(id, outcome, now);
    }
    generations
}

/// Reads, parses and checks one material. What it is judged by (the bundle of an expectation, the anchors of a list) is
/// taken from `generations`.
pub fn load_one(plan: &Plan, generations: &Generations, id: MaterialId, now: SystemTime) -> Result<Built, Rejection> {
    let files = source::files(plan, id);
    let snapshot = read::snapshot(&files, ReadPolicy::default());
    snapshot
        .and_then(|snapshot| build(plan, generations, id, &snapshot, now))
        .map_err(|fault| fault.reject(id.name(plan), files[0]))
}

/// Parses and checks what was read of one material.
pub fn build(
    plan: &Plan,
    generations: &Generations,
    id: MaterialId,
    snapshot: &Snapshot,
    now: SystemTime,
) -> Result<Built, Fault> {
    match id {
        MaterialId::Identity(id) => build_identity(plan, generations, id, snapshot, now),
        MaterialId::Trust(_) => {
            let mut bundle = trust::build(&snapshot.files[0], now)?;
            bundle.warnings.extend(mounted_plainly(snapshot));
            Ok(Built::Trust(bundle))
        }
        MaterialId::Revocation(id) => build_revocation(plan, generations, id, snapshot, now),
    }
}

fn build_identity(
    plan: &Plan,
    generations: &Generations,
    id: IdentityId,
    snapshot: &Snapshot,
    now: SystemTime,
) -> Result<Built, Fault> {
    let paths = source::files(plan, MaterialId::Identity(id));
    let file = |position: usize| (paths[position], snapshot.files[position].as_slice());
    let expect = &plan.identity(id).expect;
    let authority = expect.chains_to.map(|trust| generations.authority(plan, trust));
    let requirements = Requirements {
        roles: Roles::of(plan, id),
        names: &expect.names,
        chains_to: authority.as_ref().map(Option::as_ref),
    };
    let files = IdentityFiles { certificate: file(0), private_key: file(paths.len() - 1) };
    let mut identity = identity::build(files, requirements, now)?;
    identity.warnings.extend(mounted_plainly(snapshot));
    Ok(Built::Identity(identity))
}

fn build_revocation(
    plan: &Plan,
    generations: &Generations,
    id: TrustId,
    snapshot: &Snapshot,
    now: SystemTime,
) -> Result<Built, Fault> {
    let Some(trust) = generations.trust(id) else {
        return Err(Fault::new(super::Reason::TrustUnavailable, "the bundle beside it is not loaded"));
    };
    let files: Vec<&[u8]> = snapshot.files.iter().map(Vec::as_slice).collect();
    let (policy, predecessor) = (plan.trust(id).revocation, generations.revocation(id));
    let predecessor = predecessor.map(|generation| &generation.value);
    let lists = revocation::build(&files, &trust.value, policy, predecessor, now).map_err(|(position, fault)| {
        let paths: Vec<&Path> = source::files(plan, MaterialId::Revocation(id));
        fault.of_file(paths[position])
    })?;
    Ok(Built::Revocation(lists))
}

fn mounted_plainly(snapshot: &Snapshot) -> Option<Warning> {
    (!snapshot.linked).then_some(Warning::PlainFiles)
}
