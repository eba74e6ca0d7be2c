//! The choice among a listener's configurations, without a network.

use std::time::SystemTime;

use quinn::ConnectionError;

use super::rig::Rig;
use crate::{
    material::{load, testing::Ca},
    observe::labels::HandshakeFailure,
    plan::{ClientAuthMode, DnsPattern, IdentityId, ListenerId, UpstreamId},
    tls::{Alert, Configs, classify},
};

/// A listener with identities for `a.example`, `*.b.example` and `c.b.example`.
fn three() -> Rig {
    let ca = Ca::new("root");
    let mut rig = Rig::with_server(ca, &Ca::new("root").leaf(&["a.example"]));
    for names in [&["*.b.example"][..], &["c.b.example"]] {
        let leaf = rig.ca.leaf(names);
        let id = rig.bench.identity(names[0].trim_start_matches("*."), &leaf);
        rig.listener().identities.push(id);
    }
    rig
}

#[test]
fn identities_go_by_name_exact_before_wildcard_and_the_first_for_all_others() {
    let rig = three();
    let configs = rig.configs();
    let listener = configs.listener(ListenerId(0)).expect("ready");
    let shown = |sni: Option<&str>| {
        let (chosen, _) = listener.choose(sni, None).expect("chosen");
        chosen.standing.identity.expect("an identity").0
    };
    for (sni, position) in [
        (Some("a.example"), 0),
        (Some("x.b.example"), 1),
        (Some("X.B.Example"), 1),
        (Some("c.b.example"), 2),
        (Some("x.y.b.example"), 0),
        (Some("b.example"), 0),
        (None, 0),
    ] {
        assert_eq!(shown(sni), IdentityId(position), "{sni:?}");
    }
}

#[test]
fn choices_are_made_and_refused_with_words() {
    let mut rig = Rig::new();
    rig.alpn(false, &["h3"]);
    rig.routes()[0].sni = DnsPattern::parse("server.example");
    let configs = rig.configs();
    let listener = configs.listener(ListenerId(0)).expect("ready");
    let refused = listener.choose(None, Some(&[b"h3"])).expect_err("no route");
    assert_eq!((refused.failure, refused.alert), (HandshakeFailure::NoRoute, Alert::UNRECOGNIZED_NAME));
    let refused = listener.choose(Some("server.example"), None).expect_err("no protocol");
    assert_eq!((refused.failure, refused.alert), (HandshakeFailure::NoAlpn, Alert::NO_APPLICATION_PROTOCOL));
    let (chosen, config) = listener.choose(Some("server.example"), Some(&[b"x", b"h3"])).expect("chosen");
    assert_eq!(chosen.alpn.as_deref(), Some(&b"h3"[..]));
    assert_eq!(config.tls.alpn_protocols, [b"h3".to_vec()]);
    assert_eq!((config.tls.send_tls13_tickets, config.tls.max_early_data_size), (0, 0));
    assert!(!config.tls.session_storage.can_cache() && !config.tls.ticketer.enabled());
}

#[test]
fn a_role_without_its_material_is_not_ready_and_the_others_are() {
    let mut rig = three();
    rig.client_auth(ClientAuthMode::Required, None);
    let derive = |rig: &Rig| {
        let generations = load(&rig.bench.plan, SystemTime::now());
        let configs = Configs::derive(&rig.bench.plan, &generations).expect("derived");
        (configs.listener(ListenerId(0)).is_some(), configs.upstream(UpstreamId(0)).is_some())
    };
    assert_eq!(derive(&rig), (true, true));
    // One of three identities: to go on would be to show another one in its place.
    std::fs::write(rig.bench.path("c.b.example.key"), "").expect("write");
    assert_eq!(derive(&rig), (false, true));
    let mut rig = Rig::new();
    rig.client_auth(ClientAuthMode::Optional, None);
    std::fs::write(rig.bench.path("rig.ca"), "").expect("write");
    assert_eq!(derive(&rig), (false, false));
    let rig = Rig::new();
    std::fs::write(rig.bench.path("rig.ca"), "").expect("write");
    assert_eq!(derive(&rig), (true, false));
}

#[test]
fn a_bundle_whose_list_is_missing_makes_its_roles_not_ready() {
    let mut rig = Rig::new();
    rig.bench.plan.trust[0].revocation_lists = vec![rig.bench.path("nowhere.crl")];
    let generations = load(&rig.bench.plan, SystemTime::now());
    let configs = Configs::derive(&rig.bench.plan, &generations).expect("derived");
    assert!(configs.upstream(UpstreamId(0)).is_none() && configs.listener(ListenerId(0)).is_some());
}

#[test]
fn server_names_follow_the_rule() {
    let mut rig = Rig::new();
    let name = |rig: &Rig, requested: Option<&str>| {
        let configs = rig.configs();
        configs.upstream(UpstreamId(0)).expect("ready").server_name(requested).map(str::to_owned)
    };
    assert_eq!(name(&rig, Some("a.example")).as_deref(), Some("a.example"));
    assert_eq!(name(&rig, None), None);
    rig.upstream().server_name = crate::plan::ServerNameRule::Fixed("b.example".to_owned());
    assert_eq!(name(&rig, Some("a.example")).as_deref(), Some("b.example"));
}

#[test]
fn no_debug_output_shows_a_key() {
    let mut rig = three();
    let leaf = rig.ca.leaf(&["client.example"]);
    rig.client(&leaf);
    let generations = load(&rig.bench.plan, SystemTime::now());
    let configs = Configs::derive(&rig.bench.plan, &generations).expect("derived");
    let listener = configs.listener(ListenerId(0)).expect("ready");
    let upstream = configs.upstream(UpstreamId(0)).expect("ready");
    let (_, config) = listener.choose(None, None).expect("chosen");
    let shown = format!("{generations:?}{configs:?}{listener:?}{upstream:?}{config:?}{:?}", config.tls);
    for name in ["server.key", "client-1.key", "b.example.key"] {
        let pem = std::fs::read(rig.bench.path(name)).expect("read");
        let key = crate::material::pem::read(&pem).expect("PEM")[0].content.clone();
        let secret = &key[36..68];
        let (bytes, hex) = (format!("{secret:?}"), secret.iter().map(|b| format!("{b:02x}")).collect::<String>());
        assert!(!shown.contains(bytes.trim_matches(['[', ']'])) && !shown.contains(&hex));
    }
}

#[test]
fn errors_are_classified() {
    use HandshakeFailure as Failure;
    for (alert, failure) in [
        (42, Failure::BadCertificate),
        (44, Failure::Revoked),
        (45, Failure::Expired),
        (48, Failure::UnknownIssuer),
        (49, Failure::NameNotAllowed),
        (70, Failure::Version),
        (112, Failure::NoRoute),
        (116, Failure::NoClientCertificate),
        (120, Failure::NoAlpn),
        (80, Failure::Protocol),
    ] {
        assert_eq!(Alert(alert).failure(), failure, "{alert}");
        assert_eq!(Alert::of_code(Alert(alert).code()), Some(Alert(alert)));
    }
    assert_eq!(Alert::of_code(quinn::TransportErrorCode::CONNECTION_REFUSED), None);
    for (error, failure) in [
        (ConnectionError::VersionMismatch, Failure::Version),
        (ConnectionError::TimedOut, Failure::Timeout),
        (ConnectionError::LocallyClosed, Failure::Timeout),
        (ConnectionError::CidsExhausted, Failure::Limit),
        (ConnectionError::Reset, Failure::Protocol),
    ] {
        assert_eq!(classify(&error, None), failure);
        assert_eq!(classify(&error, Some(Failure::NameMismatch)), Failure::NameMismatch);
    }
}
