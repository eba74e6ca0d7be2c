use std::time::{Duration, SystemTime};

use super::rig::Rig;
use crate::{
    live::retire::{LATE, Retirements},
    material::testing::{Ca, Leaf, leaf_params},
    plan::{IdentityId, StillTrusted},
};

const HOUR: Duration = Duration::from_secs(3600);

/// An identity with this long behind it and this long to go.
fn identity(ca: &Ca, behind: Duration, left: Duration) -> Leaf {
    let mut params = leaf_params(&["client.test"]);
    let now = time::OffsetDateTime::now_utc();
    (params.not_before, params.not_after) = (now - behind, now + left);
    ca.issue(params)
}

#[test]
fn an_earlier_identity_is_retired_in_the_margin_before_its_end_and_the_current_one_never() {
    let ca = Ca::new("ca");
    let mut rig = Rig::new(&[&ca], StillTrusted::Keep, Some(&identity(&ca, HOUR, HOUR * 3)));
    let (mut retirements, now) = (Retirements::default(), SystemTime::now());
    let plan = rig.bench.plan.clone();
    retirements.note(&plan, &rig.configs());
    assert!(!retirements.are_waited_for());
    assert_eq!(retirements.begun(now + HOUR * 9), []);
    retirements.note(&plan, &rig.showing(&identity(&ca, HOUR, HOUR * 9)));
    assert!(retirements.are_waited_for());
    // A tenth of four hours would be more than the ten minutes that the margin may have.
    let first = (IdentityId(0), 1);
    assert_eq!(retirements.begun(now + HOUR * 3 - Duration::from_secs(605)), []);
    assert!(!retirements.is_over(first));
    let begun = retirements.begun(now + HOUR * 3 - Duration::from_secs(595));
    assert_eq!(begun.len(), 1);
    assert_eq!(begun[0].0, first);
    let left = begun[0].1;
    assert!(left > Duration::from_secs(290) && left < Duration::from_secs(300), "{left:?}");
    // Told once, and from then on over; the current one is not.
    assert_eq!(retirements.begun(now + HOUR * 9), []);
    assert!(retirements.is_over(first) && !retirements.is_over((IdentityId(0), 2)));
    assert!(!retirements.are_waited_for());
}

#[test]
fn a_renewal_that_comes_after_the_end_retires_at_short_notice() {
    let ca = Ca::new("ca");
    let mut rig = Rig::new(&[&ca], StillTrusted::Keep, Some(&identity(&ca, HOUR, HOUR)));
    let mut retirements = Retirements::default();
    let plan = rig.bench.plan.clone();
    retirements.note(&plan, &rig.configs());
    let renewed = rig.showing(&identity(&ca, HOUR, HOUR * 9));
    retirements.note(&plan, &renewed);
    assert_eq!(retirements.begun(SystemTime::now() + HOUR * 2), [((IdentityId(0), 1), LATE)]);
}
