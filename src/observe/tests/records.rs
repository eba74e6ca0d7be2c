//! One record a connection, on every path.

use super::*;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines that `events` log.
fn logged(events: impl FnOnce()) -> Vec<serde_json::Value> {
    let kept = Kept::default();
    let writer = kept.clone();
    let subscriber = log::subscriber(Format::Json, tracing::Level::INFO, move || writer.clone());
    tracing::subscriber::with_default(subscriber, events);
    let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn established(observer: &Observer) -> ConnectionRecord {
    let mut attempt = Attempt::begin(observer.listener(0), peer());
    attempt.facts().server_name = Some("a\n\u{202e}b".to_owned());
    attempt.facts().alpn = Some(b"h3\xff".to_vec());
    attempt.facts().names = (0..100).map(|n| format!("{n}{}", "x".repeat(1_000))).collect();
    attempt.established(observer.upstream(0), Duration::from_millis(3))
}

fn closes(observer: &Observer, component: &str, reason: &str) -> f64 {
    value(observer, &format!(r#"iris_connection_closes_total{{component="{component}",reason="{reason}"}}"#))
}

fn active(observer: &Observer) -> (f64, f64) {
    let of = |component: &str, transport: &str| {
        value(observer, &format!(r#"iris_connections_active{{component="{component}",transport="{transport}"}}"#))
    };
    (of("tunnel", "quic"), of("stargate", "quic_plaintext"))
}

#[test]
fn a_connection_is_one_line_and_counted_at_both_ends() {
    let observer = ready_observer();
    let lines = logged(|| {
        let record = established(&observer);
        assert_eq!(active(&observer), (1.0, 1.0));
        let traffic = Arc::clone(record.traffic());
        traffic.stream();
        traffic.bytes(Direction::Upstream, 100);
        traffic.bytes(Direction::Downstream, 7);
        traffic.datagram_dropped(Direction::Downstream);
        record.end(Ending::new(Side::Dialled, CloseReason::Peer).with_code((1 << 62) - 1, b"bye\x1b[2J"));
    });
    assert_eq!(active(&observer), (0.0, 0.0));
    assert_eq!(closes(&observer, "tunnel", "far_side"), 1.0);
    assert_eq!(closes(&observer, "stargate", "peer"), 1.0);
    for component in ["tunnel", "stargate"] {
        assert_eq!(value(&observer, &format!(r#"iris_streams_total{{component="{component}"}}"#)), 1.0);
        let bytes = format!(r#"iris_bytes_total{{component="{component}",direction="upstream"}}"#);
        assert_eq!(value(&observer, &bytes), 100.0);
    }
    assert_eq!(value(&observer, r#"iris_datagrams_dropped_total{component="tunnel"}"#), 1.0);
    assert_eq!(value(&observer, r#"iris_datagrams_dropped_total{component="stargate"}"#), 0.0);
    assert_eq!(value(&observer, r#"iris_upstream_connect_seconds_count{component="stargate"}"#), 1.0);

    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    for (field, expected) in [
        ("component", "tunnel"),
        ("upstream", "stargate"),
        ("transport", "quic"),
        ("upstream_transport", "quic_plaintext"),
        ("peer", "192.0.2.7:40000"),
        ("sni", "a\\u{a}\\u{202e}b"),
        ("alpn", "h3\\xff"),
        ("reason", "far_side"),
        ("upstream_reason", "peer"),
        ("text", "bye\\u{1b}[2J"),
    ] {
        assert_eq!(line[field], expected, "{field}");
    }
    for (field, expected) in [
        ("streams", 1),
        ("bytes_upstream", 100),
        ("bytes_downstream", 7),
        ("datagrams_dropped", 1),
        ("code", (1_u64 << 62) - 1),
    ] {
        assert_eq!(line[field], expected, "{field}");
    }
    assert!(line["duration_ms"].is_u64());
    assert!(line["names"].as_str().unwrap().len() < 1_200, "bounded");
    assert!(line["names"].as_str().unwrap().ends_with(",+92"), "and the rest is counted");
}

#[test]
fn a_record_that_is_dropped_without_a_word_still_counts() {
    let observer = ready_observer();
    let lines = logged(|| drop(established(&observer)));
    assert_eq!(active(&observer), (0.0, 0.0));
    assert_eq!(closes(&observer, "tunnel", "error"), 1.0);
    assert_eq!(lines[0]["text"], "given up: its task was cancelled");
}

#[test]
fn a_panic_still_writes_the_record() {
    let observer = ready_observer();
    let lines = logged(|| {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _record = established(&observer);
            panic!("as a test would");
        }));
        assert!(result.is_err());
    });
    assert_eq!(active(&observer), (0.0, 0.0));
    assert_eq!(closes(&observer, "stargate", "error"), 1.0);
    let record = lines.iter().find(|line| line["message"] == "connection ended").unwrap();
    assert_eq!(record["text"], "given up: a panic");
}

#[test]
fn the_first_reason_stays() {
    let observer = ready_observer();
    let mut record = established(&observer);
    record.ends(Ending::new(Side::Both, CloseReason::TrustRemoved));
    record.end(Ending::new(Side::Accepted, CloseReason::Error));
    assert_eq!(closes(&observer, "tunnel", "trust_removed"), 1.0);
    assert_eq!(closes(&observer, "stargate", "trust_removed"), 1.0);
    assert_eq!(closes(&observer, "tunnel", "error"), 0.0);
}

#[test]
fn each_way_of_not_connecting_is_counted_where_it_belongs() {
    let observer = ready_observer();
    let attempt = || Attempt::begin(observer.listener(0), peer());
    let lines = logged(|| {
        attempt().refuse(HandshakeFailure::NoRoute, "no route for \"x\n\"");
        attempt().fail(HandshakeFailure::UnknownIssuer, "");
        attempt().refuse_dial(observer.upstream(0), HandshakeFailure::DestinationNotAllowed, "");
        attempt().fail_dial(observer.upstream(0), HandshakeFailure::Unreachable, "");
        drop(attempt());
    });
    for (component, reason) in [
        ("tunnel", "no_route"),
        ("tunnel", "unknown_issuer"),
        ("stargate", "destination_not_allowed"),
        ("stargate", "unreachable"),
        ("tunnel", "protocol"),
    ] {
        let failures = format!(r#"iris_handshake_failures_total{{component="{component}",reason="{reason}"}}"#);
        assert_eq!(value(&observer, &failures), 1.0, "{failures}");
    }
    for (component, transport, result, count) in [
        ("tunnel", "quic", "refused", 2.0),
        ("tunnel", "quic", "failed", 3.0),
        ("tunnel", "quic", "established", 0.0),
        ("stargate", "quic_plaintext", "refused", 1.0),
        ("stargate", "quic_plaintext", "failed", 1.0),
    ] {
        let of =
            format!(r#"iris_connections_total{{component="{component}",result="{result}",transport="{transport}"}}"#);
        assert_eq!(value(&observer, &of), count, "{of}");
    }
    assert_eq!(active(&observer), (0.0, 0.0));
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0]["detail"], "no route for \"x\\u{a}\"");
    assert_eq!(lines[0]["level"], "WARN");
    assert_eq!(lines[3]["upstream"], "stargate");
    assert_eq!(lines[4]["detail"], "given up: its task was cancelled");
}

#[test]
fn c21_a_storm_of_refusals_costs_a_few_lines_and_is_counted_whole() {
    let observer = ready_observer();
    let lines = logged(|| {
        for _ in 0..10_000 {
            Attempt::begin(observer.listener(0), peer()).refuse(HandshakeFailure::UnknownIssuer, "");
        }
        observer.finish();
    });
    assert_eq!(
        value(&observer, r#"iris_handshake_failures_total{component="tunnel",reason="unknown_issuer"}"#),
        10_000.0
    );
    // Ten a second; a slow machine takes a few seconds for the loop.
    assert!(lines.len() < 200, "{}", lines.len());
    let told: u64 = lines.iter().filter_map(|line| line["lines"].as_u64()).sum();
    let written = lines.iter().filter(|line| line["message"] == "connection not established").count();
    assert_eq!(told + u64::try_from(written).unwrap(), 10_000);
}

#[test]
fn becoming_ready_and_ceasing_to_be_are_told_once_each() {
    let observer = ready_observer();
    let lines = logged(|| {
        observer.tick(now());
        observer.tick(now() + 91 * DAY);
        observer.tick(now() + 91 * DAY);
        observer.tick(now());
    });
    let told: Vec<_> = lines
        .iter()
        .filter(|line| line["component"] == "tunnel")
        .map(|line| line["message"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["component is not ready", "component is ready"]);
}
