use crate::config::problem::{Fault, Problem, Problems, Sink, Spot, near, shown};

#[test]
fn near_misses_are_found_and_far_ones_are_not() {
    let keys = ["certificate", "private_key", "bundle", "expect"];
    for (word, meant) in [
        ("certificat", Some("certificate")),
        ("Certificate", Some("certificate")),
        ("private-key", Some("private_key")),
        ("privatekey", Some("private_key")),
        ("bundel", Some("bundle")),
        ("expects", Some("expect")),
        ("key", None),
        ("", None),
        ("x", None),
    ] {
        assert_eq!(near(word, keys), meant, "{word}");
    }
    assert_eq!(near("a", ["b", "c"]), None, "one letter is near to any other");
    assert_eq!(near(&"a".repeat(10_000), keys), None);
}

#[test]
fn what_may_be_secret_is_not_shown() {
    for text in [
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
        "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.c2ln",
        "0123456789abcdef0123456789abcdef",
        "user:password@host",
        "two\nlines",
        "tab\there",
        "a text that is longer than anything that a person would type here",
    ] {
        let said = shown(text);
        assert_eq!(said, format!("a text of {} bytes (not shown)", text.len()));
    }
    for text in ["", "h3", "quic://[::]:50072", "stargate-0.stargate.example.com", "10.0.0.0/8:*", "reverse-tunnel"] {
        assert_eq!(shown(text), format!("`{text}`"));
    }
}

#[test]
fn paths_hold_keys_and_positions() {
    let spot = Spot::default().key("listeners", 1).index(2, 3).key("tls", 4);
    assert_eq!(spot, Spot { path: "listeners[2].tls".into(), line: 4 });
    assert_eq!(Spot::default().key("two\nlines", 1).path, "(key)");
    assert_eq!(Spot::default().key("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 1).path, "(key)");
}

#[test]
fn problems_come_in_the_order_of_lines() {
    let sink = Sink::default();
    let fault = |message: &str| Fault::new(message, "something else");
    sink.report(&Spot { path: "b".into(), line: 9 }, fault("second"));
    sink.report(&Spot { path: "a".into(), line: 2 }, fault("first").meant(Some("x")));
    sink.report(&Spot::default(), fault("of the file"));
    let problems = sink.finish();
    let lines = "\
of the file; expected something else
line 2: a: first; expected something else (did you mean `x`?)
line 9: b: second; expected something else";
    assert_eq!(problems.to_string(), lines);
    assert_eq!((&problems).into_iter().map(|problem| problem.line).collect::<Vec<_>>(), [None, Some(2), Some(9)]);
    assert!(!problems.is_empty() && Problems::default().is_empty());
}

#[test]
fn a_problem_is_data_as_well() {
    let problem = Problem {
        path: "workers".into(),
        line: Some(3),
        message: "0 is too small".into(),
        expected: "1 to 256".into(),
        hint: None,
    };
    let json = serde_json::to_value(&problem).unwrap();
    assert_eq!(json["path"], "workers");
    assert_eq!(json["line"], 3);
}
