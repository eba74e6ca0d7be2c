//! Any bytes as a file of chain and key: of an accepted one the key signs what the leaf verifies, and each certificate is
//! signed by the next.
#![no_main]

mod common;

use std::{path::Path, time::SystemTime};

use iris::material::{
    identity::{self, IdentityFiles, Requirements},
    provider::{algorithms, provider},
    roles::Roles,
};
use libfuzzer_sys::fuzz_target;
use rustls::{
    SignatureScheme,
    pki_types::{CertificateDer, UnixTime},
};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

fuzz_target!(|bytes: &[u8]| {
    let text = common::text(bytes, &["PRIVATE KEY", "CERTIFICATE"]);
    let file = (Path::new("all.pem"), text.as_slice());
    let requirements = Requirements { roles: Roles { server: true, client: false }, ..Requirements::default() };
    let files = IdentityFiles { certificate: file, private_key: file };
    let identity = match identity::build(files, requirements, SystemTime::now()) {
        Ok(identity) => identity,
        Err(fault) => return assert!(!fault.detail.is_empty() && !fault.detail.contains(['\n', '\r', '\0'])),
    };
    assert!(!format!("{identity:?}").contains("PRIVATE"));
    let leaf = EndEntityCert::try_from(&identity.chain[0]).expect("a leaf");
    signs_for(&identity, &leaf);
    links(&leaf, &identity.chain);
});

/// The key signs, by a scheme that is its own, what the leaf verifies.
fn signs_for(identity: &identity::Identity, leaf: &EndEntityCert<'_>) {
    let schemes: Vec<SignatureScheme> = provider().signature_verification_algorithms.supported_schemes();
    let signer = identity.certified.key.choose_scheme(&schemes).expect("a scheme");
    let signature = signer.sign(b"a message").expect("a signature");
    let mapping = provider().signature_verification_algorithms.mapping;
    let verifiers = mapping.iter().find(|(scheme, _)| *scheme == signer.scheme()).expect("a verifier").1;
    assert!(verifiers.iter().any(|verifier| leaf.verify_signature(*verifier, b"a message", &signature).is_ok()));
}

/// webpki finds the way from the leaf to the last certificate that the names lead to; what stands behind that are roots.
fn links(leaf: &EndEntityCert<'_>, chain: &[CertificateDer<'static>]) {
    let names = |der: &CertificateDer<'_>| {
        let parsed = EndEntityCert::try_from(der).expect("every block is a certificate");
        (parsed.issuer().to_vec(), parsed.subject().to_vec())
    };
    let names: Vec<_> = chain.iter().map(names).collect();
    let linked = 1 + names.windows(2).take_while(|pair| pair[0].0 == pair[1].1 && pair[0].0 != pair[0].1).count();
    assert!(names[linked..].iter().all(|(issuer, subject)| issuer == subject), "something leads nowhere");
    if linked == 1 {
        return;
    }
    let anchors = [anchor_from_trusted_cert(&chain[linked - 1]).expect("an anchor")];
    let path = leaf.verify_for_usage(
        algorithms(),
        &anchors,
        &chain[1..linked - 1],
        UnixTime::now(),
        KeyUsage::server_auth(),
        None,
        None,
    );
    assert!(path.is_ok(), "{:?}", path.err());
}
