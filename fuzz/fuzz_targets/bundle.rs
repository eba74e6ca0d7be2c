//! Any bytes as a trust bundle: of an accepted one every distinct CA is an anchor, except those that have ended, and every
//! block is a certificate.
#![no_main]

mod common;

use std::{
    collections::HashSet,
    time::{SystemTime, UNIX_EPOCH},
};

use iris::material::{pem, trust};
use libfuzzer_sys::fuzz_target;
use x509_parser::prelude::{FromDer, ParsedExtension, X509Certificate};

fuzz_target!(|bytes: &[u8]| {
    let text = common::text(bytes, &["CERTIFICATE"]);
    let now = SystemTime::now();
    let bundle = match trust::build(&text, now) {
        Ok(bundle) => bundle,
        Err(fault) => return assert!(!fault.detail.is_empty() && !fault.detail.contains(['\n', '\r', '\0'])),
    };
    let now = i64::try_from(now.duration_since(UNIX_EPOCH).expect("after 1970").as_secs()).expect("soon");
    let blocks = pem::read(&text).expect("it was accepted");
    let (mut distinct, mut left_out) = (HashSet::new(), 0);
    for block in &blocks {
        let (rest, certificate) = X509Certificate::from_der(&block.content).expect("every block is a certificate");
        assert!(rest.is_empty());
        if certificate.validity().not_after.timestamp() < now {
            left_out += 1;
            continue;
        }
        let mut constraints = None;
        for extension in certificate.extensions() {
            if let ParsedExtension::NameConstraints(_) = extension.parsed_extension() {
                constraints = Some(extension.value.to_vec());
            }
        }
        let ca = certificate.basic_constraints().expect("readable").map(|found| found.value);
        assert!(ca.is_some_and(|ca| ca.ca) || (ca.is_none() && certificate.version.0 == 0), "it is no CA");
        let substance = (
            certificate.subject().as_raw().to_vec(),
            certificate.public_key().raw.to_vec(),
            constraints,
            ca.and_then(|ca| ca.path_len_constraint),
        );
        distinct.insert(substance);
    }
    assert_eq!(bundle.anchors.len(), distinct.len(), "{} blocks, {left_out} left out", blocks.len());
    assert_eq!(bundle.anchors.len(), bundle.roots.roots.len());
    assert!(!bundle.anchors.is_empty() && !bundle.contracts_to(&bundle));
});
