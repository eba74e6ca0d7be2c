use std::time::Duration;

use proptest::prelude::*;

use super::{
    address::{self, Listen, Place, ServerName, Target},
    duration,
    host::HostPort,
    path, policy,
    scheme::Scheme,
    size, word,
};

#[test]
fn durations_have_one_number_and_one_unit() {
    for (text, millis) in
        [("0s", 0), ("500ms", 500), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000), ("007s", 7_000)]
    {
        assert_eq!(duration::parse(text), Ok(Duration::from_millis(millis)), "{text}");
    }
    for text in
        ["", "s", "10", "-1s", "+1s", "1.5s", "1 s", "1S", "1d", "1us", "1h30m", "1e3s", "99999999999999999999s", "٣s"]
    {
        assert!(duration::parse(text).is_err(), "{text}");
    }
    // More hours than milliseconds can say.
    assert!(duration::parse("999999999999999999h").is_err());
}

#[test]
fn sizes_have_one_number_and_one_binary_unit() {
    for (text, bytes) in [("0B", 0), ("512B", 512), ("64KiB", 65_536), ("1MiB", 1 << 20), ("2GiB", 2 << 30)] {
        assert_eq!(size::parse(text), Ok(bytes), "{text}");
    }
    for (text, meant) in [("64", "64B"), ("64K", "64KiB"), ("1MB", "1MiB"), ("1mib", "1MiB"), ("2G", "2GiB")] {
        let fault = size::parse(text).expect_err(text);
        assert_eq!(fault.hint, Some(format!("did you mean `{meant}`?")), "{text}");
    }
    for text in ["", "KiB", "-1KiB", "1.5MiB", "1 KiB", "1TiB", "999999999999999999GiB"] {
        assert!(size::parse(text).is_err(), "{text}");
    }
}

#[test]
fn names_are_short_and_plain() {
    let longest = "a".repeat(63);
    for name in ["a", "0", "-", "reverse-tunnel", &longest] {
        assert_eq!(word::name(name), Ok(name.to_owned()));
    }
    let longer = "a".repeat(64);
    for name in ["", "A", "a_b", "a.b", "a b", "ä", "a\n", &longer] {
        assert!(word::name(name).is_err(), "{name:?}");
    }
    assert_eq!(word::name("Reverse_Tunnel").unwrap_err().hint.as_deref(), Some("did you mean `reverse-tunnel`?"));
}

#[test]
fn application_protocols_are_visible_ascii_and_none_is_reserved() {
    assert_eq!(word::alpn("h3"), Ok(Some(b"h3".to_vec())));
    assert_eq!(word::alpn("none"), Ok(None));
    let longest = "a".repeat(255);
    assert!(word::alpn(&longest).is_ok());
    let longer = "a".repeat(256);
    for text in ["", "h 3", "h3\n", "ü", &longer] {
        assert!(word::alpn(text).is_err(), "{text:?}");
    }
}

#[test]
fn flags_have_two_spellings() {
    assert_eq!((word::flag("true"), word::flag("false")), (Ok(true), Ok(false)));
    for (text, meant) in [("yes", "true"), ("True", "true"), ("off", "false"), ("NO", "false")] {
        assert_eq!(word::flag(text).unwrap_err().hint, Some(format!("did you mean `{meant}`?")));
    }
}

#[test]
fn paths_are_never_repeated() {
    assert_eq!(path::parse("/run/tls.crt"), Ok("/run/tls.crt".into()));
    let long = "a".repeat(4097);
    for text in ["", "a\nb", "a\0b", "/run/", "-----BEGIN CERTIFICATE-----MIIB", &long] {
        let fault = path::parse(text).expect_err(text);
        assert!(text.is_empty() || !fault.message.contains(text), "{fault:?}");
    }
}

#[test]
fn hosts_and_ports() {
    for (text, host, port) in [
        ("Far.Example:50072", "far.example", 50072),
        ("far.example.:1", "far.example.", 1),
        ("stargate:1", "stargate", 1),
        ("10.0.0.1:65535", "10.0.0.1", 65535),
        ("[fd00:0::1]:1", "fd00::1", 1),
        ("[::ffff:10.0.0.1]:1", "10.0.0.1", 1),
    ] {
        let parsed = HostPort::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((parsed.host.as_str(), parsed.port), (host, port));
        assert_eq!(HostPort::parse(&parsed.to_string()), Some(parsed), "{text} again");
    }
    for text in [
        "",
        ":1",
        "a",
        "a:",
        "a:0",
        "a:65536",
        "a:+1",
        "a:1:2",
        "::1:1",
        "[::1]",
        "[::1]1",
        "[::1",
        "[a]:1",
        "[10.0.0.1]:1",
        "10.0.0:1",
        "127.1:1",
        "0x7f000001:1",
        "010.0.0.1:1",
        "a..b:1",
        "a.b..:1",
        "*.a:1",
        "a b:1",
        "u@a:1",
        "a/b:1",
        "[fe80::1%eth0]:1",
    ] {
        assert_eq!(HostPort::parse(text), None, "{text}");
    }
}

#[test]
fn addresses_of_listeners() {
    let listen = |scheme, address: &str| Ok(Listen { scheme, place: Place::Socket(address.parse().unwrap()) });
    assert_eq!(address::listen("quic://[::]:50072"), listen(Scheme::Quic, "[::]:50072"));
    assert_eq!(address::listen("quic+plaintext://127.0.0.1:0"), listen(Scheme::QuicPlaintext, "127.0.0.1:0"));
    assert_eq!(address::listen("quic+plaintext://[::ffff:127.0.0.1]:1"), listen(Scheme::QuicPlaintext, "127.0.0.1:1"));
    for text in ["quic://", "quic://:1", "quic://requested", "quic:///a", "quic://a:1", "quic:[::]:1", "//[::]:1"] {
        assert!(address::listen(text).is_err(), "{text}");
    }
    let unix = |path: &str| Ok(Listen { scheme: Scheme::Unix, place: Place::Unix(path.into()) });
    assert_eq!(address::listen("unix:/run/app.sock"), unix("/run/app.sock"));
    let longest = format!("/{}", "a".repeat(106));
    assert_eq!(address::listen(&format!("unix:{longest}")), unix(&longest));
    let longer = format!("unix:{longest}a");
    for text in ["unix:", "unix:app.sock", "unix://run/app.sock", "unix:/run/", "unix:@abstract", "unix:/a\n", &longer]
    {
        assert!(address::listen(text).is_err(), "{text}");
    }
}

#[test]
fn modes_of_unix_sockets() {
    for (text, mode) in [("0600", 0o600), ("660", 0o660), ("0777", 0o777)] {
        assert_eq!(address::mode(text), Ok(mode), "{text}");
    }
    for text in ["", "0", "60", "06600", "0800", "rw-", "0o600", "+600", "4755"] {
        assert!(address::mode(text).is_err(), "{text}");
    }
}

#[test]
fn versions_suites_and_groups_have_the_names_of_their_registries() {
    assert_eq!(policy::version("1.3").map(policy::TlsVersion::as_str), Ok("1.3"));
    assert!(policy::version("1.1").is_err() && policy::version("TLSv1.3").is_err());
    let fault = policy::cipher_suite("tls_aes_128_gcm_sha256").expect_err("the case is wrong");
    assert_eq!(fault.hint.as_deref(), Some("did you mean `TLS_AES_128_GCM_SHA256`?"));
    assert!(policy::cipher_suite("TLS_RSA_WITH_AES_128_CBC_SHA").is_err());
    let fault = policy::group("X25519").expect_err("the registry writes it small");
    assert_eq!(fault.hint.as_deref(), Some("did you mean `x25519`?"));
    assert!(policy::group("secp521r1").is_err());
}

#[test]
fn addresses_of_upstreams() {
    assert_eq!(address::dial("quic://requested").map(|dial| dial.target), Ok(Target::Requested));
    let fixed = Target::Fixed(HostPort { host: "a.example".into(), port: 1 });
    assert_eq!(address::dial("quic://a.example:1").map(|dial| dial.target), Ok(fixed));
    assert_eq!(address::dial("unix:/run/a.sock").map(|dial| dial.target), Ok(Target::Unix("/run/a.sock".into())));
    for text in [
        "quic://Requested",
        "quic://requested:1",
        "quic+plaintext://requested",
        "tls://requested",
        "tcp://requested",
        "unix:requested",
        "quic://a:1/",
        "quic://a:1?b",
    ] {
        assert!(address::dial(text).is_err(), "{text}");
    }
}

#[test]
fn addresses_of_the_operator() {
    assert_eq!(address::http("http://[::]:9461/"), Ok("[::]:9461".parse().unwrap()));
    for text in
        ["http://localhost:1", "http://[::]", "http://[::]:1/metrics", "HTTP://[::]:1", "tcp://[::]:1", "[::]:1"]
    {
        assert!(address::http(text).is_err(), "{text}");
    }
}

#[test]
fn server_names() {
    let fixed = |name: &str| Ok(ServerName::Fixed(name.into()));
    assert_eq!(address::server_name("requested"), Ok(ServerName::Requested));
    assert_eq!(address::server_name("Far.Example."), fixed("far.example"));
    assert_eq!(address::server_name("[::1]"), fixed("::1"));
    assert_eq!(address::server_name("::ffff:10.0.0.1"), fixed("10.0.0.1"));
    for text in ["", "*.example", "a b", "a:1", "127.1"] {
        assert!(address::server_name(text).is_err(), "{text}");
    }
}

#[test]
fn every_scheme_has_a_row_and_only_the_carried_ones_pass() {
    for scheme in Scheme::all() {
        let rest = if scheme.prefix().ends_with('/') { "127.0.0.1:1" } else { "/run/app.sock" };
        let text = format!("{scheme}{rest}");
        match address::listen(&text) {
            Ok(listen) => assert!(scheme.is_carried() && listen.scheme == scheme),
            Err(fault) => {
                assert!(!scheme.is_carried());
                assert_eq!(fault.message, format!("this build does not carry `{scheme}` yet"));
            }
        }
        assert_eq!(
            scheme.is_secured(),
            !scheme.prefix().contains("plaintext") && !matches!(scheme, Scheme::Tcp | Scheme::Unix)
        );
    }
}

proptest! {
    #[test]
    fn durations_come_back(millis in 0u64..1_000_000_000) {
        let value = Duration::from_millis(millis);
        prop_assert_eq!(duration::parse(&duration::text(value)), Ok(value));
    }

    #[test]
    fn sizes_come_back(bytes in 0u64..1 << 40) {
        prop_assert_eq!(size::parse(&size::text(bytes)), Ok(bytes));
    }

    #[test]
    fn any_text_is_a_scalar_or_not(text in any::<String>()) {
        let _ = (duration::parse(&text), size::parse(&text), word::name(&text), word::alpn(&text), path::parse(&text));
        let _ = (address::listen(&text), address::dial(&text), address::http(&text), address::server_name(&text));
        for scheme in Scheme::all() {
            let text = format!("{scheme}{text}");
            let _ = (address::listen(&text), address::dial(&text));
        }
    }
}
