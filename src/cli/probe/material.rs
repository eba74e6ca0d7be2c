//! The files of the command line, read and judged as those of a configuration are.

use std::time::SystemTime;

use super::args::ProbeArguments;
use crate::{
    material::{Generations, MaterialId, Rejection, load::load_one},
    plan::{self, IdentityId, IdentitySource, Plan, TrustId},
    tls::probe::Probing,
};

/// A configuration that has just what a probe needs. Its paths are placeholders.
const PLAN: &str = r#"
trust: { ca: { bundle: /ca } }
identities: { certificate: { certificate: /certificate, private_key: /private_key } }
listeners:
  - { name: nobody, listen: "quic+plaintext://127.0.0.1:1", routes: [ { upstream: probed } ] }
upstreams:
  - { name: probed, dial: "quic://probe.invalid:1", tls: { trust: ca, identity: certificate, server_name: requested } }
"#;

const CA: TrustId = TrustId(0);
const CERTIFICATE: IdentityId = IdentityId(0);

/// The plan of a probe, and what it probes with.
pub(super) fn load(arguments: &ProbeArguments, now: SystemTime) -> Result<(Plan, Probing), Rejection> {
    let mut plan = plan::from_yaml(PLAN.as_bytes()).expect("a constant, which a test compiles");
    let mut wanted = Vec::new();
    if let Some(ca) = &arguments.ca {
        plan.trust[CA.0].bundle.clone_from(ca);
        plan.trust[CA.0].revocation_lists.clone_from(&arguments.crl);
        wanted.push(MaterialId::Trust(CA));
    }
    if !arguments.crl.is_empty() {
        wanted.push(MaterialId::Revocation(CA));
    }
    if let (Some(certificate), Some(private_key)) = (&arguments.certificate, &arguments.private_key) {
        plan.identities[CERTIFICATE.0].source =
            IdentitySource::Pair { certificate: certificate.clone(), private_key: private_key.clone() };
        wanted.push(MaterialId::Identity(CERTIFICATE));
    }
    let mut generations = Generations::default();
    for id in wanted {
        let built = load_one(&plan, &generations, id, now)?;
        generations.record(id, Ok(built), now);
    }
    let probing = Probing {
        authority: generations.authority(&plan, CA),
        identity: generations.identity(CERTIFICATE).map(|generation| generation.value.clone()),
        alpn: arguments.alpn.iter().map(|protocol| protocol.clone().into_bytes()).collect(),
    };
    Ok((plan, probing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_one() {
        let plan = plan::from_yaml(PLAN.as_bytes()).unwrap();
        assert_eq!((plan.trust.len(), plan.identities.len()), (1, 1));
    }
}
