//! What a configuration permits that departs from the rules of the house: allowed, and always said.

use super::Warning;
use crate::plan::{Plan, StillTrusted, UpstreamEnd, Verification};

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
