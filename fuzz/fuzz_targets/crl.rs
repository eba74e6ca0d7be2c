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
use webpki::EndEntityCert;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

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
        let is_of = |ca: &rustls::pki_types::CertificateDer<'_>| {
            let Ok(ca) = EndEntityCert::try_from(ca) else { return false };
            let signature = &list.signature_value.data;
            list.issuer().as_raw().ends_with(ca.subject())
                && algorithms().iter().any(|algorithm| ca.verify_signature(*algorithm, body, signature).is_ok())
        };
        verified += usize::from(cas.iter().any(is_of));
    }
    assert_eq!(lists.lists.len(), verified);
    assert!(!lists.lists.is_empty() && lists.is_same_as(&lists) && !lists.contracts_to(&lists));
    revocation::build(&[lists_text], &bundle, RevocationPolicy::default(), Some(&lists), now)
        .expect("it follows on itself");
});
