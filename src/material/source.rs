//! Which files make which material.

use std::path::Path;

use super::generation::MaterialId;
use crate::plan::{IdentitySource, Plan};

/// The files of a material, in the order in which its builder takes them. Never empty.
pub fn files(plan: &Plan, id: MaterialId) -> Vec<&Path> {
    match id {
        MaterialId::Identity(id) => match &plan.identity(id).source {
            IdentitySource::Pair { certificate, private_key } => vec![certificate, private_key],
            IdentitySource::Bundle(bundle) => vec![bundle],
        },
        MaterialId::Trust(id) => vec![&plan.trust(id).bundle],
        MaterialId::Revocation(id) => plan.trust(id).revocation_lists.iter().map(AsRef::as_ref).collect(),
    }
}
