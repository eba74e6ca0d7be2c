//! The binary: exit codes, signals, a reader that goes away.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    path::Path,
    process::Stdio,
};

use crate::support::process::{Running, iris, output};

/// A file for one plaintext listener on this port that leads to nowhere.
fn config(directory: &Path, listen: &str, admin: &str) -> String {
    let path = directory.join("iris.yaml");
    let text = format!(
        r#"
admin: {{ listen: "http://{admin}" }}
log: {{ format: json }}
development: {{ allow_unverified_peers: true }}
listeners:
  - {{ name: in, listen: "quic+plaintext://{listen}", routes: [ {{ upstream: out }} ] }}
upstreams:
  - {{ name: out, dial: "quic://localhost:1", tls: {{ verification: disabled, server_name: requested }} }}
"#
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn help_version_and_wrong_usage() {
    let help = output(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8(help.stdout).unwrap().contains("Exit codes:"));
    assert_eq!(output(&["--version"]).status.code(), Some(0));
    for wrong in [&["bogus"] as &[&str], &[], &["run"], &["check", "--config"]] {
        let output = output(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{wrong:?}");
    }
}

#[test]
fn c18_a_configuration_error_ends_run_with_78_and_check_with_1_every_problem_listed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("iris.yaml");
    std::fs::write(&path, "listners: []\nadmin: { lisen: 1 }\nworkers: many\n").unwrap();
    let path = path.to_str().unwrap();
    let run = output(&["run", "--config", path]);
    assert_eq!(run.status.code(), Some(78));
    let check = output(&["check", "--config", path]);
    assert_eq!(check.status.code(), Some(1));
    for text in [run.stderr, check.stdout] {
        let text = String::from_utf8(text).unwrap();
        for (line, path) in [(1, "listners"), (2, "admin.lisen"), (3, "workers")] {
            let place = format!("iris.yaml:{line}: {path}: ");
            assert!(text.contains(&place), "{place} in\n{text}");
        }
    }
    assert_eq!(output(&["run", "--config", "/does/not/exist"]).status.code(), Some(78));
}

#[test]
fn a_socket_that_cannot_be_bound_ends_run_with_71() {
    let directory = tempfile::tempdir().unwrap();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let run = output(&[
        "run",
        "--config",
        &config(directory.path(), &taken.local_addr().unwrap().to_string(), "127.0.0.1:0"),
    ]);
    let text = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(71), "{text}");
    assert!(text.contains("listener in: cannot bind") && text.contains("in use"), "{text}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let run = output(&[
        "run",
        "--config",
        &config(directory.path(), "127.0.0.1:0", &taken.local_addr().unwrap().to_string()),
    ]);
    assert_eq!(run.status.code(), Some(71));
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let mut child =
        iris(&["check", "--config", "/does/not/exist"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn it_serves_until_a_signal_and_ends_with_0() {
    for signal in ["-TERM", "-INT"] {
        let directory = tempfile::tempdir().unwrap();
        let mut running = Running::start(&config(directory.path(), "127.0.0.1:0", "127.0.0.1:0"));
        let departure = running.wait_for("peers may go unverified");
        assert_eq!(
            (departure["level"].as_str(), departure["subject"].as_str()),
            (Some("WARN"), Some("development.allow_unverified_peers"))
        );
        let admin = loop {
            let line = running.wait_for("listening");
            if line["component"] == "admin.listen" {
                break line["address"].as_str().unwrap().to_owned();
            }
        };
        let mut stream = TcpStream::connect(admin).unwrap();
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nready\n"), "{answer}");
        running.signal(signal);
        running.wait_for("drained");
        assert_eq!(running.wait().code(), Some(0), "{signal}");
    }
}
