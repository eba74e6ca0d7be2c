//! Any bytes as a bundle and the revocation lists beside it: every accepted list was signed by a CA of the bundle, and none
//! that was is missing.
#![no_main]

mod common;

use std::time::SystemTime;

use iris::{
    material::{pem, provider::algorithms, revocation, trust, validity},
    plan::RevocationPolicy,
};
use libfuzzer_sys::fuzz_target;
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate};

fuzz_target!(|bytes: &[u8]| {
    let text = common::text(bytes, &["CERTIFICATE", "X509 CRL"]);
    const LIST: &[u8] = b"-----BEGIN X509 CRL-----";
    let split = text.windows(LIST.len()).position(|window| window == LIST).unwrap_or(text.len());
    let (bundle_text, lists_text) = text.split_at(split);
    let now = SystemTime::now();
    let Ok(bundle) = trust::build(bundle_text, now) else { return };
    let lists = match revocation::build(&[lists_text], &bundle, RevocationPolicy::default(), None, now) {
        Ok(lists) => lists,
        Err((_, fault)) => return assert!(!fault.detail.is_empty() && !fault.detail.contains(['\n', '\r', '\0'])),
    };
    let cas = pem::read(bundle_text).expect("it was accepted");
    let mut cas: Vec<_> = cas.into_iter().map(|block| block.content.into()).collect();
    // A CA that has ended is no anchor.
    cas.retain(|ca| validity(ca).is_some_and(|(_, end)| now <= end));
    let mut verified = 0;
    for block in pem::read(lists_text).expect("it was accepted") {
        let (_, list) = CertificateRevocationList::from_der(&block.content).expect("every block is a list");
        let body = list.tbs_cert_list.as_ref();
        // Of an anchor nothing counts but name and key (RFC 5280 section 6.1.1): a parser that minds its extensions would refuse
        // some of those that are taken.
        let is_of = |ca: &CertificateDer<'_>| {
            let Ok((_, ca)) = X509Certificate::from_der(ca) else { return false };
            let (key, signature) = (&ca.public_key().subject_public_key.data, &list.signature_value.data);
            list.issuer().as_raw() == ca.subject().as_raw()
                && algorithms().iter().any(|algorithm| algorithm.verify_signature(key, body, signature).is_ok())
        };
        verified += usize::from(cas.iter().any(is_of));
    }
    assert_eq!(lists.lists.len(), verified);
    assert!(!lists.lists.is_empty() && lists.is_same_as(&lists) && !lists.contracts_to(&lists));
    revocation::build(&[lists_text], &bundle, RevocationPolicy::default(), Some(&lists), now)
        .expect("it follows on itself");
});
