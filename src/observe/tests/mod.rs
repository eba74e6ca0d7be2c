//! The observer as a whole: every series from the start, no series from peers, readiness by the clock, one record a
//! connection on every path.

mod documentation;
mod readiness;
mod records;

use std::{
    collections::BTreeSet,
    io::{self, Write},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use super::{
    labels::{
        CloseReason, ConnectionResult, Direction, HandshakeFailure, Label, Material, MaterialState, ReloadResult,
        Transport,
    },
    log::{self, Format},
    status::{CertificateFacts, ConnectionsRow, MaterialFacts, MaterialKind, Refusal},
    *,
};

const DAY: Duration = Duration::from_secs(86_400);

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + 20_000 * DAY
}

fn peer() -> SocketAddr {
    "192.0.2.7:40000".parse().unwrap()
}

fn component(name: &str, transport: Transport, materials: &[Material]) -> ComponentSetup {
    let address = format!("{}://somewhere", transport.as_str());
    ComponentSetup { name: name.to_owned(), transport, address, materials: materials.to_vec() }
}

/// An ingress with client authentication and an egress with a client identity.
fn observer() -> Arc<Observer> {
    use Material::{ClientIdentity, Revocation, ServerIdentity, Trust};
    Observer::new(Setup {
        listeners: vec![
            component("tunnel", Transport::Quic, &[ServerIdentity, Trust, Revocation]),
            component("to-pylon", Transport::QuicPlaintext, &[]),
        ],
        upstreams: vec![
            component("stargate", Transport::QuicPlaintext, &[]),
            component("pylon", Transport::Quic, &[Trust, ClientIdentity]),
        ],
        ..Setup::default()
    })
}

/// Everything made ready.
fn ready_observer() -> Arc<Observer> {
    let observer = observer();
    for listener in [0, 1] {
        observer.listener(listener).set_bound("[::1]:4433".parse().unwrap());
    }
    for role in observer.components().flat_map(|component| component.roles()) {
        let life = Lifetime::whole(now() - DAY, now() + 90 * DAY);
        let is_list = role.material() == Material::Revocation;
        role.loaded(if is_list { life.unusable_from(None) } else { life }, now());
    }
    observer.enter(Phase::Running);
    observer
}

/// The series of an exposition: everything before the value.
fn series(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
}

fn value(observer: &Observer, series: &str) -> f64 {
    value_at(observer, series, now())
}

fn value_at(observer: &Observer, series: &str, at: SystemTime) -> f64 {
    let text = observer.expose(at);
    let line = text.lines().find(|line| line.starts_with(&format!("{series} ")));
    line.unwrap_or_else(|| panic!("no series {series} in\n{text}")).rsplit_once(' ').unwrap().1.parse().unwrap()
}

fn values<L: Label>() -> Vec<&'static str> {
    L::ALL.iter().map(|label| label.as_str()).collect()
}

/// What `contract.md` 22 asks of one component, written out a second time.
fn expected_of(name: &str, transport: &str, materials: &[&str], into: &mut BTreeSet<String>) {
    let mut add = |line: String| assert!(into.insert(line), "expected twice");
    for material in materials {
        let role = format!(r#"component="{name}",material="{material}""#);
        for result in ["success", "rejected"] {
            add(format!(r#"iris_tls_reloads_total{{{role},result="{result}"}}"#));
        }
        for state in ["active", "expiring", "expired", "held", "initial_failed"] {
            add(format!(r#"iris_tls_material_state{{{role},state="{state}"}}"#));
        }
        add(format!("iris_tls_candidate_rejected{{{role}}}"));
        add(format!("iris_tls_certificate_expiry_timestamp_seconds{{{role}}}"));
        add(format!("iris_tls_reload_last_success_timestamp_seconds{{{role}}}"));
    }
    let reasons = "peer far_side idle drain trust_removed trust_recycled revoked identity_retired max_age config_change limit error";
    for reason in reasons.split(' ') {
        add(format!(r#"iris_connection_closes_total{{component="{name}",reason="{reason}"}}"#));
    }
    let failures = "unknown_issuer name_mismatch expired not_yet_valid revoked bad_certificate no_client_certificate \
                    name_not_allowed no_alpn no_route not_ready timeout version limit protocol unreachable \
                    destination_not_allowed";
    for reason in failures.split_whitespace() {
        add(format!(r#"iris_handshake_failures_total{{component="{name}",reason="{reason}"}}"#));
    }
    for result in ["established", "refused", "failed"] {
        add(format!(r#"iris_connections_total{{component="{name}",result="{result}",transport="{transport}"}}"#));
    }
    add(format!(r#"iris_connections_active{{component="{name}",transport="{transport}"}}"#));
    for direction in ["upstream", "downstream"] {
        add(format!(r#"iris_bytes_total{{component="{name}",direction="{direction}"}}"#));
    }
    for metric in ["iris_ready", "iris_streams_total", "iris_datagrams_dropped_total", "iris_recycle_pending"] {
        add(format!(r#"{metric}{{component="{name}"}}"#));
    }
}

#[test]
fn c22_every_series_exists_from_the_start() {
    let (histogram, found): (BTreeSet<_>, BTreeSet<_>) = series(&observer().expose(now()))
        .into_iter()
        .partition(|line| line.starts_with("iris_upstream_connect_seconds"));
    let (process, found): (BTreeSet<_>, BTreeSet<_>) = found.into_iter().partition(|line| line.starts_with("process_"));

    let mut expected = BTreeSet::new();
    expected_of("tunnel", "quic", &["server_identity", "trust", "revocation"], &mut expected);
    expected_of("to-pylon", "quic_plaintext", &[], &mut expected);
    expected_of("stargate", "quic_plaintext", &[], &mut expected);
    expected_of("pylon", "quic", &["trust", "client_identity"], &mut expected);
    let version = env!("CARGO_PKG_VERSION");
    expected.extend(
        [
            "iris_watcher_up",
            "iris_development_mode",
            "iris_clock_seconds",
            r#"iris_config_reloads_total{result="success"}"#,
            r#"iris_config_reloads_total{result="rejected"}"#,
        ]
        .map(str::to_owned),
    );
    expected.insert(format!(r#"iris_build_info{{version="{version}"}}"#));
    assert_eq!(found, expected);

    let counts: Vec<_> = histogram.iter().filter(|line| line.contains("_count{")).collect();
    let upstreams =
        ["pylon", "stargate"].map(|name| format!(r#"iris_upstream_connect_seconds_count{{component="{name}"}}"#));
    assert_eq!(counts, upstreams.iter().collect::<Vec<_>>(), "listeners dial nothing");
    assert!(histogram.contains(r#"iris_upstream_connect_seconds_bucket{component="pylon",le="+Inf"}"#));
    for name in ["process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total"] {
        assert!(process.contains(name), "{process:?}");
    }
}

#[test]
fn c22_peers_rotations_and_refusals_make_no_series() {
    let observer = ready_observer();
    let before = series(&observer.expose(now()));
    tracing::subscriber::with_default(log::subscriber(Format::Json, tracing::Level::INFO, io::sink), || {
        for n in 0..500_u16 {
            let mut attempt = Attempt::begin(observer.listener(0), SocketAddr::from(([192, 0, 2, 1], n)));
            *attempt.facts() = PeerFacts {
                server_name: Some(format!("sni-{n}.example")),
                alpn: Some(format!("alpn-{n}").into_bytes()),
                names: vec![format!("peer-{n}.example"), format!("spiffe://prod/{n}")],
                destination: Some(format!("host-{n}:1")),
            };
            match n % 3 {
                0 => attempt.refuse(HandshakeFailure::ALL[usize::from(n) % 17], &format!("detail {n}")),
                1 => attempt.fail_dial(observer.upstream(0), HandshakeFailure::Unreachable, &format!("detail {n}")),
                _ => {
                    let record = attempt.established(observer.upstream(0), Duration::from_millis(2));
                    record.traffic().stream();
                    let reason = CloseReason::ALL[usize::from(n) % 12];
                    record.end(
                        Ending::new(Side::Accepted, reason).with_code(u64::from(n), format!("bye {n}").as_bytes()),
                    );
                }
            }
        }
    });
    for n in 0..200 {
        for role in observer.components().flat_map(|component| component.roles()) {
            role.rejected(&format!("reason {n}"));
            role.reloaded(Lifetime::whole(now(), now() + n * DAY), now());
        }
        let certificate = CertificateFacts {
            subject: format!("CN=leaf {n}"),
            names: vec![format!("name-{n}.example")],
            serial: format!("{n:x}"),
            sha256: format!("{n:064x}"),
            not_before: now(),
            not_after: now() + n * DAY,
        };
        observer.set_materials(vec![material_facts(vec![certificate])]);
    }
    assert_eq!(series(&observer.expose(now())), before);
}

fn material_facts(certificates: Vec<CertificateFacts>) -> MaterialFacts {
    MaterialFacts {
        kind: MaterialKind::Identity,
        name: "edge".to_owned(),
        source: "directory link",
        sequence: 3,
        read_at: Some(now() - DAY),
        standing: Standing { in_use: Some(Lifetime::whole(now() - DAY, now() + 9 * DAY)), ..Standing::default() },
        certificates,
        refusal: Some(Refusal {
            reason: "key-mismatch",
            file: "/run/edge/tls.key".to_owned(),
            detail: "another's key".to_owned(),
            at: now() - DAY,
        }),
        warnings: vec!["incomplete-chain"],
        used_by: vec!["tunnel".to_owned()],
    }
}

#[test]
fn each_label_of_a_closed_set_has_a_place_and_a_text_of_its_own() {
    fn check<L: Label>() {
        assert!(L::ALL.iter().enumerate().all(|(position, label)| label.index() == position));
        assert_eq!(values::<L>().iter().collect::<BTreeSet<_>>().len(), L::ALL.len());
    }
    check::<Transport>();
    check::<ConnectionResult>();
    check::<CloseReason>();
    check::<HandshakeFailure>();
    check::<Material>();
    check::<MaterialState>();
    check::<ReloadResult>();
    check::<Direction>();
}

#[test]
fn c13_the_state_tells_apart_never_loaded_held_loaded_near_its_end_and_over() {
    let observer = observer();
    let role = observer.listener(0).role(Material::ServerIdentity).unwrap();
    let state_at = |at: SystemTime| {
        let text = observer.expose(at);
        let set: Vec<&str> = values::<MaterialState>()
            .into_iter()
            .filter(|state| {
                text.contains(&format!(
                    "iris_tls_material_state{{component=\"tunnel\",material=\"server_identity\",state=\"{state}\"}} 1\n"
                ))
            })
            .collect();
        assert_eq!(set.len(), 1, "one of them is 1: {set:?}");
        set[0]
    };
    assert_eq!(state_at(now()), "initial_failed");
    role.held(now() + DAY);
    assert_eq!(state_at(now()), "held");
    role.reloaded(Lifetime::whole(now(), now() + 10 * DAY), now());
    assert_eq!(state_at(now()), "active");
    assert_eq!(state_at(now() + 8 * DAY - Duration::from_secs(1)), "active");
    assert_eq!(state_at(now() + 8 * DAY), "expiring", "at a fifth of its life left");
    role.held(now() + 9 * DAY);
    assert_eq!(state_at(now() + 8 * DAY), "held", "its successor is there");
    assert_eq!(state_at(now() + 10 * DAY), "expired", "which did not come in time");
    assert_eq!(state_at(now()), "held", "clocks go back, too");
    let expiry = r#"iris_tls_certificate_expiry_timestamp_seconds{component="tunnel",material="server_identity"}"#;
    assert_eq!(value(&observer, expiry), 20_010.0 * 86_400.0);
}

#[test]
fn a_bundle_is_near_its_end_with_its_first_anchor_and_over_with_its_last() {
    let life = Lifetime {
        begins: now(),
        first_end: now() + DAY,
        last_end: now() + 10 * DAY,
        unusable_from: Some(now() + 10 * DAY),
    };
    let standing = Standing { in_use: Some(life), ..Standing::default() };
    assert_eq!(standing.state(now() + 5 * DAY, 0.2), MaterialState::Expiring);
    assert_eq!(standing.unusable(now() + 5 * DAY), None);
    assert_eq!(standing.state(now() + 10 * DAY, 0.2), MaterialState::Expired);
}

#[test]
fn the_status_names_what_is_in_use_and_what_was_refused() {
    let observer = ready_observer();
    observer.listener(0).set_obstacle("accepting", "too many open files");
    let certificate = |n: u32| CertificateFacts {
        subject: format!("CN=edge {n}"),
        names: vec!["edge.example".to_owned()],
        serial: "0a".to_owned(),
        sha256: "ab".repeat(32),
        not_before: now() - DAY,
        not_after: now() + 9 * DAY,
    };
    observer.set_materials(vec![material_facts((0..300).map(certificate).collect())]);
    let status = serde_json::to_value(observer.status(now(), ConnectionsRow::default())).unwrap();
    assert_eq!(status["ready"], false);
    assert_eq!(status["reasons"][0], "tunnel: accepting: too many open files");
    assert_eq!(status["generation"], 1);
    assert_eq!(status["clock"], "2024-10-04T00:00:00Z");
    let tunnel = &status["listeners"][0];
    assert_eq!(tunnel["bound"], "[::1]:4433");
    assert_eq!(tunnel["reason"], "accepting: too many open files");
    assert_eq!(tunnel["roles"][0]["material"], "server_identity");
    assert_eq!(tunnel["roles"][0]["state"], "active");
    let edge = &status["materials"][0];
    assert_eq!(edge["kind"], "identity");
    assert_eq!(edge["state"], "active");
    assert_eq!(edge["sequence"], 3);
    assert_eq!(edge["expires"], "2024-10-13T00:00:00Z");
    assert_eq!(edge["expires_in_seconds"], 9 * 86_400);
    assert_eq!(edge["certificates_total"], 300);
    assert_eq!(edge["certificates"].as_array().unwrap().len(), 16);
    assert_eq!(edge["certificates"][0]["sha256"], "ab".repeat(32));
    assert_eq!(edge["last_refusal"]["reason"], "key-mismatch");
    assert_eq!(edge["last_refusal"]["file"], "/run/edge/tls.key");
    assert_eq!(edge["last_refusal"]["age_seconds"], 86_400);
    assert_eq!(edge["warnings"][0], "incomplete-chain");
}
