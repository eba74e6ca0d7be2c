//! What is accepted and worth a second look.

use serde::Serialize;

use crate::{
    observe::{
        labels::{Label, MaterialState},
        status::{MaterialRow, Span},
    },
    plan::Plan,
};

/// Something that is accepted and worth a second look.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(super) struct Warning {
    /// A YAML path, or a material.
    pub(super) subject: String,
    /// What is worth a look.
    pub(super) message: String,
}

/// Everything worth a look at a plan.
pub(super) fn of_plan(plan: &Plan) -> Vec<Warning> {
    let notices = plan.notices().into_iter();
    notices.map(|notice| Warning { subject: notice.path, message: notice.message.to_owned() }).collect()
}

/// Everything worth a look at one material.
pub(super) fn of_material(material: &MaterialRow) -> Vec<Warning> {
    let mut messages: Vec<String> =
        material.warnings.iter().map(|class| format!("{class} (docs/materials.md)")).collect();
    if material.state == MaterialState::Expiring.as_str()
        && let Some(left) = material.expires_in_seconds
    {
        messages.push(format!("ends in {}, less than a fifth of its life", Span(left.unsigned_abs())));
    }
    let subject = format!("{} {}", material.kind.as_str(), material.name);
    messages.into_iter().map(|message| Warning { subject: subject.clone(), message }).collect()
}
