use std::time::SystemTime;

use rcgen::{BasicConstraints, IsCa, KeyUsagePurpose};

use crate::material::{
    Reason, TrustBundle, Warning,
    reason::Fault,
    testing::{Ca, ca_params, validity},
    trust::build,
};

fn of(cas: &[&Ca]) -> Result<TrustBundle, Fault> {
    let file: String = cas.iter().map(|ca| ca.pem()).collect();
    build(file.as_bytes(), SystemTime::now())
}

fn reason(ca: &Ca) -> Reason {
    of(&[ca]).expect_err("refused").reason
}

fn with(change: impl FnOnce(&mut rcgen::CertificateParams)) -> Ca {
    let mut params = ca_params("root");
    change(&mut params);
    Ca::of(params)
}

#[test]
fn anchors_count_once_in_any_order() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let bundle = of(&[&a, &b, &a]).expect("good");
    assert_eq!((bundle.anchors.len(), bundle.roots.roots.len(), bundle.warnings), (2, 2, vec![]));
}

#[test]
fn a_root_issued_again_for_the_same_key_is_one_anchor_that_lasts() {
    let mut params = ca_params("root");
    let key = rcgen::KeyPair::generate().expect("key");
    (params.not_before, params.not_after) = validity(-30, 10);
    let old = params.self_signed(&key).expect("root").pem();
    (params.not_before, params.not_after) = validity(-1, 900);
    let new = params.self_signed(&key).expect("root").pem();
    for file in [old.clone() + &new, new + &old] {
        let bundle = build(file.as_bytes(), SystemTime::now()).expect("good");
        assert_eq!(bundle.anchors.len(), 1);
        let day = std::time::Duration::from_secs(86_400);
        assert!(bundle.earliest_end > SystemTime::now() + 800 * day);
        assert!(bundle.anchors[0].facts.not_before < SystemTime::now() - 29 * day);
    }
}

#[test]
fn what_is_no_ca_is_no_anchor() {
    let ca = Ca::new("root");
    assert_eq!(
        build(ca.leaf(&["a.example"]).chain.as_bytes(), SystemTime::now()).expect_err("leaf").reason,
        Reason::NotACa
    );
    assert_eq!(reason(&with(|params| params.is_ca = IsCa::NoCa)), Reason::NotACa);
    assert_eq!(reason(&with(|params| params.is_ca = IsCa::ExplicitNoCa)), Reason::NotACa);
    assert_eq!(reason(&with(|params| params.key_usages = vec![KeyUsagePurpose::DigitalSignature])), Reason::KeyUsage);
    let mixed = of(&[&ca, &with(|params| params.is_ca = IsCa::NoCa)]).expect_err("one is none");
    assert!(mixed.reason == Reason::NotACa && mixed.detail.contains("certificate 2"), "{mixed:?}");
    let intermediate = of(&[&ca.intermediate("below")]).expect("an intermediate may be an anchor");
    assert_eq!(intermediate.anchors[0].path_len, None);
    let constrained = with(|params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0)));
    assert_eq!(of(&[&constrained]).expect("good").anchors[0].path_len, Some(0));
}

#[test]
fn expired_anchors_are_left_out_and_future_ones_wait() {
    let good = Ca::new("good");
    let over = with(|params| (params.not_before, params.not_after) = validity(-9, -1));
    let early = with(|params| (params.not_before, params.not_after) = validity(1, 9));
    let bundle = of(&[&over, &good, &early]).expect("good");
    assert_eq!(bundle.anchors.len(), 2);
    assert_eq!(bundle.warnings, [Warning::ExpiredAnchor, Warning::FutureAnchor]);
    assert_eq!(reason(&over), Reason::Expired);
    let fault = of(&[&early]).expect_err("early");
    assert!(fault.reason == Reason::NotYetValid && fault.starts.is_some());
}

#[test]
fn at_most_32_anchors_share_a_subject() {
    let many: Vec<Ca> = (0..33).map(|_| Ca::new("root")).collect();
    let refs: Vec<&Ca> = many.iter().collect();
    assert!(of(&refs[1..]).is_ok());
    assert_eq!(of(&refs).expect_err("too many").reason, Reason::PathBudget);
}
