use std::time::{Duration, SystemTime};

use rcgen::{KeyUsagePurpose, SerialNumber};
use rustls::pki_types::{CertificateDer, UnixTime};
use time::OffsetDateTime;
use webpki::Error;

use super::*;
use crate::material::{
    Authority, Usage,
    testing::{Ca, Leaf, authority_by, ca_params, element, leaf_params, validity},
    trust,
};

const DEFAULT: RevocationPolicy =
    RevocationPolicy { expired: ExpiredLists::Use, depth: RevocationDepth::Chain, unknown: UnknownStatus::Accept };
const STRICT: RevocationPolicy = RevocationPolicy { expired: ExpiredLists::Refuse, ..DEFAULT };

fn bundle(cas: &[&Ca]) -> TrustBundle {
    let file: String = cas.iter().map(|ca| ca.pem()).collect();
    trust::build(file.as_bytes(), SystemTime::now()).expect("a good bundle")
}

/// What some files make, after what was in use before.
fn after(
    predecessor: Option<&RevocationLists>,
    files: &[&str],
    cas: &[&Ca],
) -> Result<RevocationLists, (usize, Fault)> {
    let files: Vec<&[u8]> = files.iter().map(|file| file.as_bytes()).collect();
    build(&files, &bundle(cas), DEFAULT, predecessor, SystemTime::now())
}

fn of(files: &[&str], cas: &[&Ca]) -> Result<RevocationLists, (usize, Fault)> {
    after(None, files, cas)
}

fn reason(result: Result<RevocationLists, (usize, Fault)>) -> Reason {
    result.expect_err("refused").1.reason
}

/// A list of this number, issued so many hours ago.
fn numbered(ca: &Ca, number: u64, hours_ago: i64, serials: &[u64]) -> String {
    let now = OffsetDateTime::now_utc();
    let serials = serials.iter().map(|serial| SerialNumber::from(*serial)).collect();
    ca.list(number, serials, now - time::Duration::hours(hours_ago), now + time::Duration::days(7))
}

fn unnumbered(ca: &Ca, hours_ago: i64) -> String {
    ca.with_extensions(&numbered(ca, 1, hours_ago, &[]), &extension(&[0x2a, 3, 4, 5], false))
}

/// The extensions of a list, of which there is one.
fn extension(oid: &[u8], critical: bool) -> Vec<u8> {
    let critical = if critical { element(0x01, &[0xff]) } else { Vec::new() };
    let extension = [element(0x06, oid), critical, element(0x04, &element(0x02, &[1]))].concat();
    element(0xa0, &element(0x30, &element(0x30, &extension)))
}

fn issue(ca: &Ca, serial: u64) -> Leaf {
    let mut params = leaf_params(&["x.example"]);
    params.serial_number = Some(SerialNumber::from(serial));
    ca.issue(params)
}

fn verify(authority: &Authority, chain: &[&CertificateDer<'static>]) -> Result<usize, Error> {
    let rest: Vec<_> = chain[1..].iter().map(|der| (*der).clone()).collect();
    authority.verify(chain[0], &rest, Usage::Client, UnixTime::now())
}

#[test]
fn lists_are_signed_by_an_anchor_and_of_the_past() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let lists = |files: &[&str]| of(files, &[&a, &b]);
    let good = lists(&[&a.revoke(&[1, 2], -1, 7), &b.revoke(&[], -1, 3)]).expect("good");
    assert_eq!((good.lists.len(), good.lists[0].entries, good.warnings.as_slice()), (2, 2, &[][..]));
    assert_eq!(good.next_update, good.lists[1].next_update);
    let one = lists(&[&a.revoke(&[1], -9, -1)]).expect("past its next update, and still good");
    assert_eq!(one.warnings, [Warning::CrlExpired, Warning::CrlIncomplete]);
    assert_eq!(reason(lists(&[&a.revoke(&[1], 1, 7)])), Reason::CrlNotYet);
    assert_eq!(reason(lists(&[&Ca::new("c").revoke(&[1], -1, 7)])), Reason::CrlUnrelated);
    assert_eq!(reason(lists(&[&Ca::new("a").revoke(&[1], -1, 7)])), Reason::CrlBadSignature);
    assert_eq!(reason(lists(&[&a.pem()])), Reason::NoCrl);
    assert_eq!(reason(lists(&[&(a.revoke(&[1], -1, 7) + &a.pem())])), Reason::UnexpectedBlock);
    let (position, fault) = lists(&[&a.revoke(&[1], -1, 7), "# blank"]).expect_err("one of two");
    assert_eq!((position, fault.reason), (1, Reason::Empty));
    let mut params = ca_params("a");
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let silent = Ca::of(params);
    // A list of the other "a", signed again by this one's key: rcgen does not issue one.
    let list = silent.with_extensions(&a.revoke(&[1], -1, 7), &extension(&[0x2a, 3, 4, 5], false));
    assert_eq!(reason(of(&[&list], &[&silent])), Reason::KeyUsage);
}

#[test]
fn what_is_no_complete_list_is_refused() {
    let ca = Ca::new("a");
    let list = numbered(&ca, 3, 1, &[7]);
    // deltaCRLIndicator (RFC 5280 section 5.2.4), critical; and something that nobody knows, critical.
    for oid in [&[0x55, 0x1d, 0x1b][..], &[0x2a, 3, 4, 5]] {
        let list = ca.with_extensions(&list, &extension(oid, true));
        assert_eq!(reason(of(&[&list], &[&ca])), Reason::CrlUnsupported, "{oid:?}");
    }
    of(&[&unnumbered(&ca, 1)], &[&ca]).expect("a number is not needed");
}

#[test]
fn neither_the_order_of_files_nor_that_of_lists_matters() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let old = numbered(&a, 1, 48, &[1]);
    let new = numbered(&a, 2, 1, &[2]);
    let other = numbered(&b, 9, 1, &[3]);
    let one = of(&[&(old.clone() + &new + &other)], &[&a, &b]).expect("good");
    for files in [vec![&other, &new, &old], vec![&new, &old, &other]] {
        let files: Vec<&str> = files.into_iter().map(String::as_str).collect();
        let several = of(&files, &[&b, &a]).expect("good");
        assert!(one.is_same_as(&several) && !one.contracts_to(&several) && !several.contracts_to(&one));
        assert_eq!((several.next_update, several.warnings.len()), (one.next_update, 0));
        after(Some(&one), &files, &[&a, &b]).expect("the same follows on itself");
    }
    let fewer = of(&[&new, &other], &[&a, &b]).expect("good");
    assert!(!one.is_same_as(&fewer) && !fewer.is_same_as(&one) && fewer.contracts_to(&one));
    // Both lists of an issuer count, until the older one is gone.
    let authority = authority_by(&[&a], &[new.clone(), old.clone()], DEFAULT);
    for (serial, verdict) in [(1, Err(Error::CertRevoked)), (2, Err(Error::CertRevoked)), (3, Ok(0))] {
        assert_eq!(verify(&authority, &[&issue(&a, serial).der]), verdict, "{serial}");
    }
}

#[test]
fn an_older_list_does_not_follow_on_a_newer_one() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let cas = [&a, &b];
    let in_use = of(&[&numbered(&a, 256, 5, &[1]), &unnumbered(&b, 5)], &cas).expect("good");
    let next = |of_a: &str, of_b: &str| after(Some(&in_use), &[of_a, of_b], &cas).map(|_| ());
    let (same_a, same_b) = (numbered(&a, 256, 5, &[1]), unnumbered(&b, 5));
    for (of_a, of_b) in [
        (&same_a, &same_b),
        (&numbered(&a, 257, 5, &[]), &same_b),
        // The number decides, not the time, which a CA may have corrected.
        (&numbered(&a, 257, 9, &[]), &same_b),
        (&numbered(&a, 256, 1, &[]), &unnumbered(&b, 1)),
        // Without a number on one side, the time decides.
        (&unnumbered(&a, 1), &numbered(&b, 1, 1, &[])),
        (&unnumbered(&a, 5), &same_b),
    ] {
        assert_eq!(next(of_a, of_b), Ok(()));
    }
    // 255 has fewer octets than 256, and a larger first one.
    for (of_a, of_b, position) in [
        (&numbered(&a, 255, 1, &[1]), &same_b, 0),
        (&numbered(&a, 256, 6, &[1]), &same_b, 0),
        (&unnumbered(&a, 6), &same_b, 0),
        (&same_a, &unnumbered(&b, 6), 1),
        (&same_a, &numbered(&b, 900, 6, &[]), 1),
    ] {
        let (file, fault) = next(of_a, of_b).expect_err("older");
        assert_eq!((fault.reason, file), (Reason::CrlRollback, position), "{fault:?}");
        assert!(
            fault.detail.contains("older than the one in use (") && fault.detail.contains("issued 20"),
            "{fault:?}"
        );
    }
    // Beside a list that is new enough an older one does no harm; and whose CA is gone may be anything.
    assert!(after(Some(&in_use), &[&(numbered(&a, 255, 9, &[]) + &same_a), &same_b], &cas).is_ok());
    assert!(after(Some(&in_use), &[&numbered(&a, 1, 99, &[]), &same_b], &[&b]).is_ok());
}

#[test]
fn a_list_does_not_vanish_while_its_issuer_is_trusted() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let (of_a, of_b) = (numbered(&a, 1, 2, &[1]), numbered(&b, 1, 2, &[2]));
    let in_use = of(&[&of_a, &of_b], &[&a, &b]).expect("good");
    let (position, fault) = after(Some(&in_use), &[&of_a, &of_a], &[&a, &b]).expect_err("b has none");
    assert_eq!((position, fault.reason), (1, Reason::CrlWithdrawn));
    assert!(fault.detail.contains("no list of \"CN=b\""), "{fault:?}");
    let left = after(Some(&in_use), &[&of_a], &[&a]).expect("b is no anchor any more");
    assert_eq!(left.warnings, []);
}

#[test]
fn a_ca_taken_out_does_not_hold_up_its_neighbours() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let both = of(&[&(numbered(&a, 1, 2, &[1]) + &numbered(&b, 1, 2, &[2]))], &[&a, &b]).expect("good");
    let urgent = numbered(&a, 2, 0, &[1, 3]) + &numbered(&b, 1, 2, &[2]);
    let next = after(Some(&both), &[&urgent], &[&a]).expect("the list of b is left out");
    assert!(both.contracts_to(&next) && next.lists.len() == 1);
    assert_eq!(next.warnings, [Warning::CrlLeftOut]);
    // With no other history, as after a restart, the same. Alone it is refused.
    assert_eq!(of(&[&urgent], &[&a]).expect("good").warnings, [Warning::CrlLeftOut]);
    assert_eq!(reason(of(&[&numbered(&b, 1, 2, &[2])], &[&a])), Reason::CrlUnrelated);
    // An anchor that has ended is none.
    let mut params = ca_params("b");
    (params.not_before, params.not_after) = validity(-9, -1);
    let ended = Ca::of(params);
    let of_ended = numbered(&ended, 1, 2, &[]);
    assert_eq!(
        of(&[&numbered(&a, 1, 2, &[]), &of_ended], &[&a, &ended]).expect("good").warnings,
        [Warning::CrlLeftOut]
    );
}

#[test]
fn a_list_of_a_former_key_is_left_out_only_beside_its_successor() {
    let (old, new) = (Ca::new("a"), Ca::new("a"));
    let (of_old, of_new) = (numbered(&old, 5, 2, &[1]), numbered(&new, 1, 2, &[2]));
    let next = of(&[&(of_old.clone() + &of_new)], &[&new]).expect("the key that counts has its list");
    assert_eq!((next.lists.len(), next.warnings.as_slice()), (1, &[Warning::CrlLeftOut][..]));
    // Forged, for all that can be known: then nothing would be left of the anchor's revocations.
    assert_eq!(reason(of(&[&of_old], &[&new])), Reason::CrlBadSignature);
    let b = Ca::new("b");
    assert_eq!(reason(of(&[&of_old, &numbered(&b, 1, 1, &[])], &[&new, &b])), Reason::CrlBadSignature);
    // Numbers of another key's lists say nothing.
    let in_use = of(&[&of_old], &[&old]).expect("good");
    assert!(after(Some(&in_use), &[&of_new], &[&new]).is_ok());
    assert_eq!(reason(after(Some(&in_use), &[&of_new], &[&new, &old])), Reason::CrlWithdrawn);
}

#[test]
fn a_list_that_is_over_refuses_everybody_of_its_issuer_where_that_is_said() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let lists = [a.revoke(&[7], -9, -1), b.revoke(&[7], -9, 3)];
    let strict = authority_by(&[&a, &b], &lists, STRICT);
    let tolerant = authority_by(&[&a, &b], &lists, DEFAULT);
    assert!(matches!(verify(&strict, &[&issue(&a, 8).der]), Err(Error::CrlExpired { .. })));
    assert_eq!(verify(&strict, &[&issue(&a, 7).der]), Err(Error::CertRevoked));
    assert_eq!(verify(&strict, &[&issue(&b, 8).der]), Ok(1));
    assert_eq!(verify(&tolerant, &[&issue(&a, 8).der]), Ok(0));
    // Below an intermediate too, whose own list there is none of.
    let below = a.intermediate("below");
    let chain = [&below.leaf(&["x.example"]).der, below.certificate.der()];
    assert!(matches!(verify(&strict, &chain), Err(Error::CrlExpired { .. })));
    assert_eq!(verify(&tolerant, &chain), Ok(0));
    // A newer one beside it: the issuer's lists are not over.
    let renewed = authority_by(&[&a], &[a.revoke(&[7], -9, -1), a.revoke(&[7], -1, 7)], STRICT);
    assert_eq!(verify(&renewed, &[&issue(&a, 8).der]), Ok(0));
    assert_eq!(renewed.revocation().expect("lists").value.warnings, []);
}

#[test]
fn an_end_by_the_clock_is_a_contraction_where_it_refuses() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let bundle = bundle(&[&a, &b]);
    let files = [a.revoke(&[7], -1, 1), b.revoke(&[], -1, 9)];
    let files: Vec<&[u8]> = files.iter().map(String::as_bytes).collect();
    let now = SystemTime::now();
    let later = now + Duration::from_secs(2 * 86_400);
    let made = |policy| build(&files, &bundle, policy, None, now).expect("good");
    let tolerant = made(DEFAULT);
    assert!(!tolerant.is_stale(later) && !tolerant.contracts_to(&tolerant.as_of(later)));
    assert_eq!(tolerant.shuts_out_all_from(&bundle), None);
    let strict = made(STRICT);
    assert!(strict.is_stale(strict.next_update) && !strict.is_stale(strict.next_update - Duration::from_millis(1)));
    assert!(!strict.is_stale(now) && strict.is_stale(later));
    let over = strict.as_of(later);
    assert!(strict.contracts_to(&over) && !over.contracts_to(&strict) && !over.is_stale(later) && over.is_stale(now));
    assert_eq!((over.warnings.as_slice(), over.as_of(now).warnings.as_slice()), (&[Warning::CrlExpired][..], &[][..]));
    assert_eq!(strict.shuts_out_all_from(&bundle), Some(strict.lists[1].next_update));
    // With a third anchor and no list for it somebody always passes, unless that is refused too.
    let three = self::bundle(&[&a, &b, &Ca::new("c")]);
    assert_eq!(strict.shuts_out_all_from(&three), None);
    let strictest = made(RevocationPolicy { unknown: UnknownStatus::Refuse, ..STRICT });
    assert_eq!(strictest.shuts_out_all_from(&three), Some(strict.lists[1].next_update));
}

#[test]
fn depth_and_unknown_status_are_as_the_file_says() {
    let root = Ca::new("root");
    let mut params = ca_params("below");
    params.serial_number = Some(SerialNumber::from(7u64));
    let below = root.intermediate_of(params);
    let deep = issue(&below, 7);
    let chain = [&deep.der, below.certificate.der()];
    let list = [root.revoke(&[7], -1, 7)];
    let by = |depth, unknown| authority_by(&[&root], &list, RevocationPolicy { depth, unknown, ..DEFAULT });
    use RevocationDepth::{Chain, Leaf};
    use UnknownStatus::{Accept, Refuse};
    // The intermediate is revoked, the leaf's issuer has no list.
    assert_eq!(verify(&by(Chain, Accept), &chain), Err(Error::CertRevoked));
    assert_eq!(verify(&by(Chain, Refuse), &chain), Err(Error::CertRevoked));
    assert_eq!(verify(&by(Leaf, Accept), &chain), Ok(0));
    assert_eq!(verify(&by(Leaf, Refuse), &chain), Err(Error::UnknownRevocationStatus));
    for (depth, unknown) in [(Chain, Accept), (Chain, Refuse), (Leaf, Accept), (Leaf, Refuse)] {
        assert_eq!(verify(&by(depth, unknown), &[&issue(&root, 7).der]), Err(Error::CertRevoked));
        assert_eq!(verify(&by(depth, unknown), &[&issue(&root, 8).der]), Ok(0));
    }
    // As an anchor the intermediate may have a list of its own.
    let both = [root.revoke(&[], -1, 7), below.revoke(&[7], -1, 7)];
    let authority = authority_by(&[&root, &below], &both, RevocationPolicy { unknown: Refuse, ..DEFAULT });
    assert_eq!(verify(&authority, &chain), Err(Error::CertRevoked));
    assert!(verify(&authority, &[&issue(&below, 8).der, below.certificate.der()]).is_ok());
}

#[test]
fn an_issuer_without_a_list_any_more_is_a_contraction_where_that_refuses() {
    let (a, b) = (Ca::new("a"), Ca::new("b"));
    let (of_a, of_b) = (a.revoke(&[], -1, 7), b.revoke(&[], -1, 7));
    let lists = |files: &[&str], unknown| {
        let files: Vec<&[u8]> = files.iter().map(|file| file.as_bytes()).collect();
        let policy = RevocationPolicy { unknown, ..DEFAULT };
        build(&files, &bundle(&[&a, &b]), policy, None, SystemTime::now()).expect("good")
    };
    for (unknown, contracts) in [(UnknownStatus::Accept, false), (UnknownStatus::Refuse, true)] {
        let (both, one) = (lists(&[&of_a, &of_b], unknown), lists(&[&of_a], unknown));
        assert_eq!(both.contracts_to(&one), contracts);
        assert!(!one.contracts_to(&both));
    }
}

#[test]
fn lists_and_serials_are_bounded() {
    let ca = Ca::new("a");
    let one = numbered(&ca, 1, 1, &[]);
    assert_eq!(of(&[&one.repeat(LISTS_LIMIT)], &[&ca]).expect("as many as may be").lists.len(), LISTS_LIMIT);
    let half = one.repeat(LISTS_LIMIT / 2);
    let (position, fault) = of(&[&half, &half, &one], &[&ca]).expect_err("one more, in all files together");
    assert_eq!((position, fault.reason), (2, Reason::CrlTooLarge));
    let serials = |from: usize, count: usize| {
        let serials = (from..from + count).map(|serial| SerialNumber::from(serial as u64)).collect();
        ca.revoke_serials(serials, -1, 7)
    };
    let parts: Vec<String> = (0..5).map(|part| serials(part * SERIALS_LIMIT / 5, SERIALS_LIMIT / 5)).collect();
    assert!(parts.iter().all(|part| part.len() < 1024 * 1024), "more than a file may hold");
    let mut files: Vec<&str> = parts.iter().map(String::as_str).collect();
    let most = of(&files, &[&ca]).expect("as many as may be");
    assert_eq!(most.lists.iter().map(|list| list.entries).sum::<usize>(), SERIALS_LIMIT);
    assert!(most.mentions(&[1]) && !most.contracts_to(&most));
    let more = serials(0, 1);
    files.push(&more);
    let (position, fault) = of(&files, &[&ca]).expect_err("one more");
    assert_eq!((position, fault.reason), (5, Reason::CrlTooLarge));
}
