//! Readiness: conditions, the clock, the phases.

use super::*;

fn reasons(observer: &Observer, at: SystemTime) -> Vec<String> {
    observer.readiness(at).reasons()
}

#[test]
fn c18_nothing_is_ready_until_all_sockets_are_bound_and_all_roles_are_filled() {
    let observer = observer();
    assert_eq!(
        reasons(&observer, now()),
        [
            "starting: not every socket is bound",
            "tunnel: bound: no socket yet; server_identity: never loaded; trust: never loaded; revocation: never loaded",
            "to-pylon: bound: no socket yet",
            "pylon: trust: never loaded; client_identity: never loaded",
        ]
    );
    assert_eq!(value(&observer, r#"iris_ready{component="tunnel"}"#), 0.0);
    assert_eq!(value(&observer, r#"iris_ready{component="stargate"}"#), 1.0);

    for listener in [0, 1] {
        observer.listener(listener).set_bound(peer());
    }
    observer.enter(Phase::Running);
    assert!(!observer.readiness(now()).is_ready());
    for role in observer.components().flat_map(|component| component.roles()) {
        role.rejected("key-mismatch: tls.key is another's");
    }
    assert_eq!(
        reasons(&observer, now())[1],
        "pylon: trust: never loaded; what is on disk is refused: key-mismatch: tls.key is another's; \
         client_identity: never loaded; what is on disk is refused: key-mismatch: tls.key is another's"
    );
    for role in observer.components().flat_map(|component| component.roles()) {
        role.reloaded(Lifetime::whole(now(), now() + DAY), now());
    }
    assert_eq!(reasons(&observer, now()), [""; 0]);
    assert!(observer.readiness(now()).is_ready(), "by itself, when the material appears");
    assert_eq!(value(&observer, r#"iris_ready{component="tunnel"}"#), 1.0);
}

#[test]
fn c19_a_refused_reload_leaves_it_ready() {
    let observer = ready_observer();
    let role = observer.listener(0).role(Material::ServerIdentity).unwrap();
    role.rejected("expired: ended yesterday");
    assert!(observer.readiness(now()).is_ready());
    let labels = r#"{component="tunnel",material="server_identity""#;
    assert_eq!(value(&observer, &format!("iris_tls_candidate_rejected{labels}}}")), 1.0);
    assert_eq!(value(&observer, &format!(r#"iris_tls_reloads_total{labels},result="rejected"}}"#)), 1.0);
    assert_eq!(value(&observer, &format!(r#"iris_tls_reloads_total{labels},result="success"}}"#)), 0.0);
    role.settled();
    assert_eq!(value(&observer, &format!("iris_tls_candidate_rejected{labels}}}")), 0.0);
}

#[test]
fn c20_an_identity_that_ends_takes_readiness_with_it_by_the_clock_alone() {
    let observer = ready_observer();
    let end = now() + 90 * DAY;
    assert!(observer.readiness(end - Duration::from_secs(1)).is_ready());
    assert!(!observer.readiness(end).is_ready());
    assert_eq!(value_at(&observer, r#"iris_ready{component="tunnel"}"#, end), 0.0);
    assert!(reasons(&observer, end)[0].starts_with("tunnel: server_identity: expired"));
    assert!(!reasons(&observer, end)[0].contains("revocation"), "the serials of an old list still count");
    for role in observer.components().flat_map(|component| component.roles()) {
        role.reloaded(Lifetime::whole(end, end + DAY), end);
    }
    assert!(observer.readiness(end).is_ready(), "a good reload heals it");
}

#[test]
fn c20_lists_that_shut_everybody_out_take_readiness_with_them() {
    let observer = ready_observer();
    let role = observer.listener(0).role(Material::Revocation).unwrap();
    let (first, last) = (now() + DAY, now() + 2 * DAY);
    role.reloaded(Lifetime::whole(now(), first).unusable_from(Some(last)), now());
    let state = |at| value_at(&observer, &STATE.replace("STATE", "expired"), at);
    const STATE: &str = r#"iris_tls_material_state{component="tunnel",material="revocation",state="STATE"}"#;
    assert_eq!((state(now()), state(first), state(last)), (0.0, 1.0, 1.0));
    assert!(observer.readiness(first).is_ready(), "others pass still");
    assert!(reasons(&observer, last)[0].starts_with("tunnel: revocation: expired"));
}

#[test]
fn an_obstacle_stands_in_the_way_until_it_is_cleared() {
    let observer = ready_observer();
    observer.listener(0).set_obstacle("accepting", "too many open files");
    assert_eq!(reasons(&observer, now()), ["tunnel: accepting: too many open files"]);
    observer.listener(0).clear_obstacle("accepting");
    assert!(observer.readiness(now()).is_ready());
}

#[test]
fn draining_is_not_ready_and_a_one_way_street() {
    let observer = ready_observer();
    observer.enter(Phase::Draining);
    observer.enter(Phase::Running);
    assert_eq!(reasons(&observer, now()), ["draining: the process is stopping"]);
}

#[test]
fn the_verbose_text_names_every_condition() {
    let observer = ready_observer();
    assert_eq!(observer.readiness(now()).to_text(false), "ready\n");
    observer.listener(1).set_obstacle("accepting", "too many open files");
    let text = observer.readiness(now()).to_text(true);
    assert!(text.contains("[+] tunnel server_identity: ok\n"), "{text}");
    assert!(text.contains("[+] to-pylon bound: ok\n[-] to-pylon accepting: too many open files\n"), "{text}");
    assert!(text.ends_with("not ready\nto-pylon: accepting: too many open files\n"), "{text}");
}
