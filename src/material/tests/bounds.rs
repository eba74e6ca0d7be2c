//! Bounds of what files may hold: what is just inside is taken, what is just outside is refused in its own words.

use std::{
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use rcgen::CustomExtension;

use crate::material::{
    Reason,
    identity::{self, IdentityFiles, Requirements},
    key, pem, revocation,
    testing::{Ca, Leaf, block, element, leaf_params},
    trust,
};
use crate::plan::RevocationPolicy;

fn identity_of(chain: &str, key: &str) -> Option<Reason> {
    let files = IdentityFiles {
        certificate: (Path::new("tls.crt"), chain.as_bytes()),
        private_key: (Path::new("tls.key"), key.as_bytes()),
    };
    identity::build(files, Requirements::default(), SystemTime::now()).err().map(|fault| fault.reason)
}

fn trust_of(text: &str) -> Option<Reason> {
    trust::build(text.as_bytes(), SystemTime::now()).err().map(|fault| fault.reason)
}

#[test]
fn a_chain_has_sixteen_certificates() {
    let root = Ca::new("root");
    let mut tower = vec![root.intermediate("0")];
    for level in 1..16 {
        tower.push(tower[level - 1].intermediate(&level.to_string()));
    }
    let file = |leaf: &Leaf, cas: &[Ca]| cas.iter().rev().fold(leaf.chain.clone(), |file, ca| file + &ca.pem());
    let leaf = tower[14].leaf(&["a.example"]);
    assert_eq!(identity_of(&file(&leaf, &tower[..15]), &leaf.key), None);
    let leaf = tower[15].leaf(&["a.example"]);
    assert_eq!(identity_of(&file(&leaf, &tower), &leaf.key), Some(Reason::TooManyCertificates));
    // Repetitions count: they are read too.
    let again = leaf.chain.repeat(17);
    assert_eq!(identity_of(&again, &leaf.key), Some(Reason::TooManyCertificates));
    assert_eq!(identity_of(&leaf.chain.repeat(16), &leaf.key), None);
}

#[test]
fn a_chain_weighs_sixty_thousand_bytes() {
    let ca = Ca::new("root");
    // An extension that nobody knows and everybody may ignore.
    let padded = |bytes: usize| {
        let mut params = leaf_params(&["a.example"]);
        params
            .custom_extensions
            .push(CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 99_999, 1], vec![7; bytes]));
        ca.issue(params)
    };
    let around = padded(59_000).der.len() - 59_000;
    // Signatures differ by a byte or two.
    let of_size = |size: usize| {
        let made = (0..1_000).map(|_| padded(size - around)).find(|leaf| leaf.der.len() == size);
        made.expect("one signature in a thousand has the usual length")
    };
    let (most, more) = (of_size(60_000), of_size(60_001));
    assert_eq!(identity_of(&most.chain, &most.key), None);
    assert_eq!(identity_of(&more.chain, &more.key), Some(Reason::TooManyCertificates));
}

#[test]
fn a_bundle_has_4096_certificates() {
    let one = Ca::new("root").pem();
    assert_eq!(trust_of(&one.repeat(4_096)), None);
    assert_eq!(trust_of(&one.repeat(4_097)), Some(Reason::TooManyCertificates));
}

/// An element inside an element, so many deep.
fn nested(tag: u8, depth: usize) -> Vec<u8> {
    // Written from the inside: each header goes in front of what there is, kept back to front.
    let mut reversed = Vec::new();
    for _ in 0..depth {
        let header = element(tag, &vec![0; reversed.len()]);
        let header = &header[..header.len() - reversed.len()];
        reversed.extend(header.iter().rev());
    }
    reversed.reverse();
    reversed
}

#[test]
fn der_that_is_deep_or_claims_to_be_long_is_refused_without_effort() {
    let mut odd: Vec<Vec<u8>> = [0x30, 0x31, 0xa0, 0xa3].map(|tag| nested(tag, 20_000)).into();
    odd.extend([
        vec![0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
        vec![0x30, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        vec![0x30, 0x80, 0x30, 0x80, 0, 0, 0, 0],
        element(0x30, &[0x30, 0x84, 0x7f, 0xff, 0xff, 0xff]),
        element(0x30, &vec![0x30; 700_000]),
    ]);
    let ca = Ca::new("root");
    let bundle = trust::build(ca.pem().as_bytes(), SystemTime::now()).expect("good");
    let begun = Instant::now();
    for der in &odd {
        let certificate = block("CERTIFICATE", der);
        assert_eq!(trust_of(&certificate), Some(Reason::BadDer));
        assert_eq!(identity_of(&certificate, &ca.leaf(&["a.example"]).key), Some(Reason::BadDer));
        let list = block("X509 CRL", der);
        let policy = RevocationPolicy::default();
        let fault =
            revocation::build(&[list.as_bytes()], &bundle, policy, None, SystemTime::now()).expect_err("refused");
        assert_eq!(fault.1.reason, Reason::BadDer);
        for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"] {
            let blocks = pem::read(block(label, der).as_bytes()).expect("PEM");
            let fault = key::load(&blocks[0]).expect_err("refused");
            assert!(matches!(fault.reason, Reason::BadDer | Reason::UnsupportedKey), "{fault:?}");
        }
    }
    let took = begun.elapsed();
    println!("{} kinds in {took:?}", odd.len());
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn extensions_that_are_deep_end_in_a_verdict() {
    let ca = Ca::new("root");
    // What the parsers look into: names, constraints, policies, key identifiers, distribution points, information access.
    for oid in [17, 18, 30, 32, 33, 35, 31, 37, 54] {
        for tag in [0x30, 0xa0, 0xa4] {
            let mut params = leaf_params(&[]);
            let oid = [2, 5, 29, oid];
            params.extended_key_usages.clear();
            params.custom_extensions.push(CustomExtension::from_oid_content(&oid, nested(tag, 5_000)));
            let leaf = ca.issue(params);
            let reason = identity_of(&leaf.chain, &leaf.key);
            assert!(reason.is_some(), "no names: {oid:?}");
        }
    }
}
