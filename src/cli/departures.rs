//! What is accepted and worth a second look: departures from the rules of the house, and oddities of materials.

use serde::Serialize;

use crate::{
    observe::{
        labels::{Label, MaterialState},
        status::{MaterialRow, Span},
    },
    plan::{Plan, StillTrusted, UpstreamEnd, Verification},
};

/// Something that is accepted and worth a second look.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(super) struct Warning {
    /// The listener, upstream, material or section that it is about.
    pub(super) subject: String,
    /// What is worth a look.
    pub(super) message: String,
}

/// Every departure of a plan.
pub(super) fn of(plan: &Plan) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |subject: &str, message: &str| {
        warnings.push(Warning { subject: subject.to_owned(), message: message.to_owned() });
    };
    if plan.development.allow_remote_plaintext {
        warn("development", "allow_remote_plaintext: plaintext may leave this machine");
    }
    if plan.development.allow_unverified_peers {
        warn("development", "allow_unverified_peers: peers may go without being verified");
    }
    if let Some(address) = plan.admin.listen
        && !address.ip().is_loopback()
    {
        warn(
            "admin",
            "listen is not a loopback address: who reaches it sees peers, names and certificates. Probes and Prometheus need only `scrape`",
        );
    }
    for upstream in &plan.upstreams {
        if let UpstreamEnd::Quic { tls, .. } = &upstream.end
            && tls.verification == Verification::Disabled
        {
            warn(&upstream.name, "verification is disabled: whoever answers is believed");
        }
    }
    for trust in &plan.trust {
        if trust.still_trusted == StillTrusted::Keep {
            warn(
                &trust.name,
                "still_trusted: keep departs from the rule that a removed CA renews every connection of the trust",
            );
        }
    }
    warnings
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
    if material.used_by.is_empty() {
        messages.push("no listener or upstream uses it".to_owned());
    }
    let subject = format!("{} {}", material.kind.as_str(), material.name);
    messages.into_iter().map(|message| Warning { subject: subject.clone(), message }).collect()
}
