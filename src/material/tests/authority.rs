use std::time::Duration;

use rcgen::{BasicConstraints, IsCa, SerialNumber};
use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::Error;

use crate::material::{
    Authority, Usage,
    testing::{Ca, authority, ca_params, leaf_params, validity},
};

fn verify(authority: &Authority, chain: &[&CertificateDer<'static>]) -> Result<usize, Error> {
    at(authority, chain, UnixTime::now())
}

fn at(authority: &Authority, chain: &[&CertificateDer<'static>], now: UnixTime) -> Result<usize, Error> {
    let rest: Vec<_> = chain[1..].iter().map(|der| (*der).clone()).collect();
    authority.verify(chain[0], &rest, Usage::Client, now)
}

/// So many days from now.
fn days(days: i64) -> UnixTime {
    let distance = Duration::from_secs(days.unsigned_abs() * 86_400);
    let now = Duration::from_secs(UnixTime::now().as_secs());
    UnixTime::since_unix_epoch(if days < 0 { now - distance } else { now + distance })
}

#[test]
fn the_anchor_that_vouches_is_told() {
    let (a, b) = (Ca::new("same"), Ca::new("same"));
    let both = authority(&[&a, &b], &[]);
    assert_eq!(verify(&both, &[&a.leaf(&["x.example"]).der]), Ok(0));
    assert_eq!(verify(&both, &[&b.leaf(&["x.example"]).der]), Ok(1));
    assert_eq!(verify(&authority(&[&a], &[]), &[&b.leaf(&["x.example"]).der]), Err(Error::UnknownIssuer));
    assert_eq!(verify(&both, &[&Ca::new("other").leaf(&["x.example"]).der]), Err(Error::UnknownIssuer));
}

#[test]
fn anchors_count_within_their_own_time() {
    let mut params = ca_params("root");
    (params.not_before, params.not_after) = validity(-1, 5);
    let ca = Ca::of(params);
    let leaf = ca.leaf(&["x.example"]);
    let authority = authority(&[&ca], &[]);
    assert_eq!(at(&authority, &[&leaf.der], days(4)), Ok(0));
    assert!(matches!(at(&authority, &[&leaf.der], days(6)), Err(Error::CertExpired { .. })));
    // Asked again for the time of the handshake, what has expired since says nothing.
    assert!(matches!(at(&authority, &[&leaf.der], days(100)), Err(Error::CertExpired { .. })));
    assert_eq!(at(&authority, &[&leaf.der], days(1)), Ok(0));
}

#[test]
fn an_anchors_path_length_is_kept_to() {
    let mut params = ca_params("root");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let ca = Ca::of(params);
    let below = ca.intermediate("below");
    let authority = authority(&[&ca], &[]);
    assert_eq!(verify(&authority, &[&ca.leaf(&["x.example"]).der]), Ok(0));
    let deep = below.leaf(&["x.example"]);
    assert_eq!(verify(&authority, &[&deep.der, below.certificate.der()]), Err(Error::PathLenConstraintViolated));
}

#[test]
fn what_a_list_names_is_refused_at_any_depth_also_past_its_time() {
    let root = Ca::new("root");
    let issue = |serial: u64| {
        let mut params = leaf_params(&["x.example"]);
        params.serial_number = Some(SerialNumber::from(serial));
        root.issue(params)
    };
    for list in [root.revoke(&[7], -1, 7), root.revoke(&[7], -9, -1)] {
        let authority = authority(&[&root], &[list]);
        assert_eq!(verify(&authority, &[&issue(7).der]), Err(Error::CertRevoked));
        assert_eq!(verify(&authority, &[&issue(8).der]), Ok(0));
    }
    // An intermediate, by the serial that it happens to bear; its own leaves have no list and pass.
    let below = root.intermediate("below");
    let leaf = below.leaf(&["x.example"]);
    let chain = [&leaf.der, below.certificate.der()];
    assert_eq!(verify(&authority(&[&root], &[root.revoke(&[7], -1, 7)]), &chain), Ok(0));
    let parsed = webpki::EndEntityCert::try_from(below.certificate.der()).expect("parsed");
    let list = root.revoke_serials(vec![SerialNumber::from_slice(parsed.serial())], -1, 7);
    assert_eq!(verify(&authority(&[&root], &[list]), &chain), Err(Error::CertRevoked));
}

#[test]
fn a_list_of_a_namesake_says_nothing_about_the_others_leaves() {
    let (a, b) = (Ca::new("same"), Ca::new("same"));
    let issue = |ca: &Ca| {
        let mut params = leaf_params(&["x.example"]);
        params.serial_number = Some(SerialNumber::from(7u64));
        ca.issue(params)
    };
    let authority = authority(&[&a, &b], &[a.revoke(&[7], -1, 7)]);
    assert_eq!(verify(&authority, &[&issue(&a).der]), Err(Error::CertRevoked));
    assert_eq!(verify(&authority, &[&issue(&b).der]), Ok(1));
}
