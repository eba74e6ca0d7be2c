//! The registry of keys against what the walk and the plan make of them: each key is read, each documented default is
//! the one that holds, each bound is kept.

use std::time::Duration;

use serde_json::{Value, json};

use super::from_yaml;
use crate::config::{
    self,
    keys::FILE,
    scalar::{duration, size},
    schema::{Key, Kind, Presence, Section},
};

/// A file with every section there is, in JSON, which is YAML.
fn full() -> Value {
    json!({
        "admin": {}, "log": {}, "development": {}, "limits": {}, "timeouts": {}, "transport": {}, "reload": {},
        "identities": {
            "pair": { "certificate": "tls.crt", "private_key": "tls.key", "expect": { "names": ["a.example"] } },
            "one": { "bundle": "one.pem" },
        },
        "trust": {
            "workers": { "bundle": "ca.crt", "revocation_lists": ["a.crl"], "revocation": {}, "on_contraction": {} },
        },
        "listeners": [
            {
                "name": "ingress", "listen": "quic://[::]:50072",
                "tls": {
                    "identities": ["pair", "one"],
                    "client_auth": { "trust": "workers", "allow": { "dns": ["a.example"] } },
                },
                "routes": [{
                    "upstream": "component",
                    "client_auth": { "trust": "workers", "allow": { "uri": ["spiffe://prod/*"] } },
                }],
            },
            {
                "name": "egress", "listen": "quic+plaintext://127.0.0.1:50172",
                "routes": [{ "sni": "far.example", "upstream": "far" }, { "upstream": "any" }],
            },
            { "name": "local", "listen": "unix:/run/iris.sock", "unix": {}, "routes": [{ "upstream": "far" }] },
        ],
        "upstreams": [
            { "name": "component", "dial": "quic+plaintext://127.0.0.1:60072" },
            { "name": "far", "dial": "quic://far.example:50072", "tls": { "trust": "workers" } },
            {
                "name": "any", "dial": "quic://requested", "allow": { "destinations": ["10.0.0.0/8:*"] },
                "tls": { "trust": "workers", "server_name": "requested" },
            },
        ],
    })
}

/// A place in the full file where a key has its place.
struct Place {
    /// Of the mapping, for [`Value::pointer_mut`].
    pointer: String,
    /// Of the key, as problems name it.
    path: String,
    key: &'static Key,
}

fn places() -> Vec<Place> {
    let mut places = Vec::new();
    collect(&FILE, &full(), "", "", &mut places);
    places
}

fn collect(section: &'static Section, value: &Value, pointer: &str, path: &str, places: &mut Vec<Place>) {
    for key in section.keys {
        let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        places.push(Place { pointer: pointer.to_owned(), path: path.clone(), key });
        let pointer = format!("{pointer}/{}", key.name);
        match (&key.kind, value.get(key.name)) {
            (Kind::Section(inner), Some(value)) => collect(inner, value, &pointer, &path, places),
            (Kind::Sections { section, .. }, Some(Value::Array(items))) => {
                for (at, item) in items.iter().enumerate() {
                    collect(section, item, &format!("{pointer}/{at}"), &format!("{path}[{at}]"), places);
                }
            }
            (Kind::Named { section, .. }, Some(Value::Object(entries))) => {
                for (name, entry) in entries {
                    collect(section, entry, &format!("{pointer}/{name}"), &format!("{path}.{name}"), places);
                }
            }
            _ => {}
        }
    }
}

/// The full file with `value` under the key.
fn with(place: &Place, value: Value) -> String {
    let mut file = full();
    file.pointer_mut(&place.pointer).unwrap()[place.key.name] = value;
    file.to_string()
}

fn is_refused(place: &Place, value: impl Into<Value>) -> bool {
    let document = config::parse(with(place, value.into()).as_bytes());
    document.problems.iter().any(|problem| problem.path == place.path)
}

#[test]
fn the_full_file_has_every_section_and_compiles() {
    from_yaml(full().to_string()).unwrap_or_else(|problems| panic!("{problems}"));
    let mut registered = Vec::new();
    config::schema::visit(&FILE, "", &mut |path, _| registered.push(path.to_owned()));
    let here: Vec<_> = places().iter().map(|place| general(&place.path)).collect();
    for path in registered {
        assert!(here.contains(&path), "{path} is nowhere in the full file");
    }
}

/// `listeners[0].tls` as the registry has it: `listeners[].tls`; names of materials likewise.
fn general(path: &str) -> String {
    let part = |(at, part): (usize, &str)| match part.split_once('[') {
        Some((name, _)) => format!("{name}[]"),
        None if at == 1 && (path.starts_with("identities.") || path.starts_with("trust.")) => "<name>".into(),
        None => part.into(),
    };
    path.split('.').enumerate().map(part).collect::<Vec<_>>().join(".")
}

#[test]
fn every_key_is_read() {
    for place in places() {
        let wrong = match place.key.kind {
            Kind::Section(_) | Kind::Sections { .. } | Kind::Named { .. } | Kind::List { .. } => json!("text"),
            _ => json!([[]]),
        };
        assert!(is_refused(&place, wrong), "{} is not looked at", place.path);
        assert!(is_refused(&place, Value::Null), "{} may be empty", place.path);
    }
}

#[test]
fn every_section_refuses_a_key_that_it_does_not_know() {
    for place in places() {
        let mut file = full();
        file.pointer_mut(&place.pointer).unwrap()["zzz"] = json!(1);
        let problems = from_yaml(file.to_string()).expect_err("unknown key");
        assert!(problems.iter().any(|problem| problem.path.ends_with("zzz")), "{}: {problems}", place.path);
        assert_eq!(problems.len(), 1, "{problems}");
    }
}

#[test]
fn defaults_are_those_of_the_registry() {
    let left_out = from_yaml(full().to_string()).unwrap();
    let mut file = full();
    let mut written = 0;
    for place in places() {
        let Presence::Default(default) = place.key.presence else { continue };
        if default.starts_with('(') {
            continue;
        }
        let mapping = file.pointer_mut(&place.pointer).unwrap();
        if mapping.get(place.key.name).is_none() {
            mapping[place.key.name] = serde_json::from_str(default).unwrap_or_else(|_| default.into());
            written += 1;
        }
    }
    // `actions: false` and the like included; what listeners share is counted for each.
    assert!(written > 25, "{written} defaults written out");
    let written = from_yaml(file.to_string()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(left_out, written);
}

#[test]
fn bounds_are_kept() {
    for place in places() {
        match place.key.kind {
            Kind::Count { min, max } => {
                for good in [min, max] {
                    assert!(!is_refused(&place, good), "{} refuses {good}", place.path);
                }
                for bad in [min - 1, max + 1] {
                    assert!(is_refused(&place, bad), "{} takes {bad}", place.path);
                }
            }
            Kind::Size { min, max } => {
                for good in [min, max] {
                    assert!(!is_refused(&place, size::text(good)), "{} refuses {good}", place.path);
                }
                for bad in [min - 1, max + 1] {
                    assert!(is_refused(&place, size::text(bad)), "{} takes {bad}", place.path);
                }
            }
            Kind::Duration { min, max } => {
                let step = Duration::from_millis(1);
                for good in [min, max] {
                    assert!(!is_refused(&place, duration::text(good)), "{} refuses {good:?}", place.path);
                }
                for bad in [min.checked_sub(step), Some(max + step)].into_iter().flatten() {
                    assert!(is_refused(&place, duration::text(bad)), "{} takes {bad:?}", place.path);
                }
            }
            Kind::List { min, max, .. } => {
                let list = |len: usize| json!(vec!["x"; len]);
                assert!(is_refused(&place, list(max + 1)), "{} takes {} entries", place.path, max + 1);
                assert!(min == 0 || is_refused(&place, list(0)), "{} takes no entry", place.path);
            }
            Kind::Choice(words) => {
                for word in words {
                    assert!(!is_refused(&place, *word), "{} refuses {word}", place.path);
                }
                assert!(is_refused(&place, "else"), "{} takes any word", place.path);
            }
            Kind::Flag => {
                for flag in [true, false] {
                    assert!(!is_refused(&place, flag), "{} refuses {flag}", place.path);
                }
                assert!(is_refused(&place, "yes"), "{} takes yes", place.path);
            }
            Kind::Text(_) | Kind::Section(_) | Kind::Sections { .. } | Kind::Named { .. } => {}
        }
    }
}
