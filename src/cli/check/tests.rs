use std::path::PathBuf;

use super::*;
use crate::material::testing::{Ca, leaf_params, validity};

const CONFIG: &str = r#"
identities:
  edge: { certificate: DIR/tls.crt, private_key: DIR/tls.key }
trust:
  workers: { bundle: DIR/ca.crt }
listeners:
  - name: tunnel
    listen: quic://[::]:50072
    tls: { identities: [ edge ], client_auth: { trust: workers, mode: required } }
    routes: [ { upstream: stargate } ]
upstreams:
  - { name: stargate, dial: "quic+plaintext://127.0.0.1:60072" }
"#;

struct Bench {
    directory: tempfile::TempDir,
    ca: Ca,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { directory: tempfile::tempdir().unwrap(), ca: Ca::new("workers") };
        let leaf = bench.ca.leaf(&["edge.example"]);
        bench.write("tls.crt", &leaf.chain);
        bench.write("tls.key", &leaf.key);
        bench.write("ca.crt", &bench.ca.pem());
        bench.configure(CONFIG);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn configure(&self, config: &str) {
        self.write("iris.yaml", &config.replace("DIR", self.directory.path().to_str().unwrap()));
    }

    fn report(&self) -> Report {
        Report::of(&self.path("iris.yaml"), false, SystemTime::now())
    }
}

#[test]
fn a_good_file_with_good_materials_has_no_problems_and_tells_the_facts() {
    let bench = Bench::new();
    let report = bench.report();
    let text = text::write(&report);
    assert!(report.ok, "{text}");
    for part in [
        "identity edge: active, ends in 8",
        "    used by: tunnel\n",
        "    subject: CN=leaf\n",
        "      names:   edge.example\n",
        "trust workers: active, ends in ",
        "warning: identity edge: plain-files (docs/materials.md)\n",
        "iris.yaml: no problems; 2 materials usable; ",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["ok"], true);
    assert_eq!(json["materials"][1]["certificates"][0]["names"][0], "edge.example");
    assert!(!text.contains("PRIVATE") && !json.to_string().contains("PRIVATE"));
}

#[test]
fn every_material_that_cannot_be_used_is_told_with_its_file_and_reason() {
    let bench = Bench::new();
    bench.write("tls.key", &bench.ca.leaf(&["other.example"]).key);
    std::fs::remove_file(bench.path("ca.crt")).unwrap();
    let report = bench.report();
    let text = text::write(&report);
    assert!(!report.ok);
    for part in [
        "identity edge: cannot be used\n",
        "    refused: key-mismatch: ",
        "tls.key\n    to do:   Usually passes when both are written.",
        "trust workers: cannot be used\n",
        "    refused: missing-file: no such file\n",
        "ca.crt\n    to do:   Create it, or correct the path",
        "iris.yaml: 2 materials cannot be used\n",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn an_early_material_and_one_near_its_end_are_told_apart() {
    let bench = Bench::new();
    let issue = |from, to| {
        let mut params = leaf_params(&["edge.example"]);
        (params.not_before, params.not_after) = validity(from, to);
        let leaf = bench.ca.issue(params);
        bench.write("tls.crt", &leaf.chain);
        bench.write("tls.key", &leaf.key);
        bench.report()
    };
    let near = issue(-90, 3);
    assert!(near.ok);
    assert!(near.warnings.iter().any(|warning| warning.message.starts_with("ends in 2 d")), "{:?}", near.warnings);
    let early = issue(2, 90);
    assert!(!early.ok);
    let text = text::write(&early);
    assert!(text.contains("refused: not-yet-valid: ") && text.contains("    starts:  20"), "{text}");
}

#[test]
fn problems_of_the_file_come_first_and_alone_each_with_place_and_cure() {
    let bench = Bench::new();
    bench.configure(&CONFIG.replace("identities: [ edge ],", "identites: [ edge ],"));
    let report = bench.report();
    assert!(!report.ok && report.materials.is_none());
    let text = text::write(&report);
    let place = format!("{}:9: listeners[0].tls.identites: ", bench.path("iris.yaml").display());
    assert!(text.contains(&place), "{text}");
    assert!(text.contains("    allowed: one of `identities`") && text.contains("did you mean `identities`?"), "{text}");
    assert!(text.ends_with("iris.yaml: 1 problem\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["problems_total"], 1);
    assert_eq!(json["problems"].as_array().unwrap().len(), 1);
}

#[test]
fn the_file_alone_needs_no_certificates() {
    let bench = Bench::new();
    std::fs::remove_file(bench.path("tls.key")).unwrap();
    let report = Report::of(&bench.path("iris.yaml"), true, SystemTime::now());
    assert!(report.ok && report.materials.is_none());
    assert!(text::write(&report).ends_with("no problems; certificates were not looked at\n"));
}

#[test]
fn a_file_that_cannot_be_read_or_is_too_large_is_a_problem() {
    let bench = Bench::new();
    for path in [bench.path("absent.yaml"), bench.directory.path().to_owned()] {
        let report = Report::of(&path, false, SystemTime::now());
        assert!(!report.ok);
        assert!(text::write(&report).contains("cannot read the file: "), "{}", text::write(&report));
    }
    bench.write("iris.yaml", &"#".repeat(2 * crate::config::MAX_SIZE));
    assert_eq!(bench.report().refused.total, 1);
}

#[test]
fn departures_from_the_rules_are_said_and_are_no_problems() {
    let bench = Bench::new();
    let departing = CONFIG.replace("bundle: DIR/ca.crt", "bundle: DIR/ca.crt, on_contraction: { still_trusted: keep }")
        + "  - { name: far, dial: \"quic://far.example:1\", tls: { verification: disabled, server_name: requested } }\n"
        + "development: { allow_unverified_peers: true }\n";
    bench.configure(&departing);
    let report = bench.report();
    assert!(report.ok, "{}", text::write(&report));
    let subjects: Vec<&str> = report.warnings.iter().map(|warning| warning.subject.as_str()).collect();
    for subject in ["development.allow_unverified_peers", "upstreams.far", "upstreams.far.tls.verification"] {
        assert!(subjects.contains(&subject), "{subject} in {subjects:?}");
    }
}
