use proptest::prelude::*;

use super::*;

fn dns(text: &str) -> DnsPattern {
    DnsPattern::parse(text).unwrap_or_else(|| panic!("{text} is a DNS pattern"))
}

fn uri(text: &str) -> UriPattern {
    UriPattern::parse(text).unwrap_or_else(|| panic!("{text} is a URI pattern"))
}

fn to(text: &str) -> HostPort {
    HostPort::parse(text).unwrap_or_else(|| panic!("{text} is host and port"))
}

fn permits(rule: &str, destination: &str) -> bool {
    let rule = DestinationRule::parse(rule).unwrap_or_else(|| panic!("{rule} is a rule"));
    DestinationRules(vec![rule]).permits(&to(destination))
}

#[test]
fn a_wildcard_stands_for_one_label_and_only_the_leftmost() {
    let pattern = dns("*.example.com");
    for name in ["a.example.com", "A.EXAMPLE.com", "a.example.com.", "a-b_c.example.com", "1.example.com"] {
        assert!(pattern.matches(name), "{name}");
    }
    for name in [
        "example.com",
        ".example.com",
        "a.b.example.com",
        "example.com.",
        "a.example.org",
        "a.example.com.evil",
        "a.example.com..",
        "aexample.com",
        "-a.example.com",
        "a b.example.com",
        "a\0.example.com",
        "",
        ".",
    ] {
        assert!(!pattern.matches(name), "{name:?}");
    }
}

#[test]
fn a_name_fits_itself_in_any_case_with_or_without_the_last_dot() {
    for pattern in ["stargate-0.Example.com", "stargate-0.example.com."] {
        let pattern = dns(pattern);
        assert_eq!(pattern.as_str(), "stargate-0.example.com");
        assert!(pattern.matches("STARGATE-0.example.com") && pattern.matches("stargate-0.example.com."));
        assert!(!pattern.matches("x.stargate-0.example.com") && !pattern.matches("stargate-0.example.com.."));
    }
    assert!(dns("stargate").matches("stargate"));
}

#[test]
fn what_is_no_dns_pattern() {
    let long_label = format!("{}.example", "a".repeat(64));
    let long_name = format!("{}.example", ["a"; 130].join("."));
    for text in [
        "",
        ".",
        "*",
        "*.",
        "*.*.example",
        "a.*.example",
        "*a.example",
        "a*.example",
        "**.example",
        "a..example",
        ".example",
        "example..",
        "-a.example",
        "a-.example",
        "a b.example",
        "a/b",
        "a:1",
        "ä.example",
        "10.0.0.1",
        "*.0.0.1",
        "1.2",
        "example.1",
        "0x7f000001",
        "a.0x1F",
        "0x",
        "[::1]",
        "::1",
        &long_label,
        &long_name,
    ] {
        assert_eq!(DnsPattern::parse(text), None, "{text}");
    }
}

#[test]
fn no_dns_pattern_fits_an_ip_literal() {
    for pattern in ["*.example", "a.example", "*.a1", "x1"] {
        for literal in ["10.0.0.1", "127.1", "::1", "[::1]", "::ffff:10.0.0.1"] {
            assert!(!dns(pattern).matches(literal), "{pattern} {literal}");
        }
    }
}

#[test]
fn a_certificate_covers_a_pattern() {
    for (pattern, san, covered) in [
        ("a.example.com", "a.example.com", true),
        ("a.example.com", "A.Example.Com.", true),
        ("a.example.com", "*.example.com", true),
        ("*.example.com", "*.example.com", true),
        ("*.example.com", "*.EXAMPLE.com", true),
        ("*.example.com", "a.example.com", false),
        ("*.a.example.com", "*.example.com", false),
        ("b.a.example.com", "*.example.com", false),
        ("example.com", "*.example.com", false),
        ("*.example.com", "*.com", false),
        ("a.example.com", "", false),
        ("a.example.com", "*", false),
    ] {
        assert_eq!(dns(pattern).is_covered_by(san), covered, "{pattern} by {san}");
    }
}

#[test]
fn a_certificate_that_bears_the_wildcard_itself_fits_the_same_wildcard_only() {
    assert!(dns("*.workers.example").matches("*.workers.example"));
    assert!(!dns("a.workers.example").matches("*.workers.example"));
    assert!(!dns("*.workers.example").matches("*.a.workers.example"));
    assert!(!dns("*.workers.example").matches("**.workers.example"));
}

#[test]
fn uri_patterns_are_compared_byte_by_byte() {
    assert!(uri("spiffe://prod/worker").matches("spiffe://prod/worker"));
    for other in ["spiffe://prod/Worker", "spiffe://prod/worker/", "SPIFFE://prod/worker", "spiffe://prod/worker2", ""]
    {
        assert!(!uri("spiffe://prod/worker").matches(other), "{other}");
    }
    let prefix = uri("spiffe://prod/ns/*");
    assert!(prefix.matches("spiffe://prod/ns/a/b") && prefix.matches("spiffe://prod/ns/"));
    for other in ["spiffe://prod/ns", "spiffe://prod.evil/ns/a", "spiffe://prod/nsx/a", "xspiffe://prod/ns/a"] {
        assert!(!prefix.matches(other), "{other}");
    }
}

#[test]
fn what_is_no_uri_pattern() {
    let long = format!("spiffe://prod/{}", "a".repeat(2048));
    for text in [
        "",
        "*",
        "spiffe:",
        "spiffe://",
        "spiffe://*",
        "spiffe://prod*",
        "spiffe://*/a",
        "spiffe:///a",
        "spiffe:///*",
        "spiffe://prod/*/a",
        "spiffe://prod/**",
        "*://prod/a",
        "://prod/a",
        "1a://prod/a",
        "sp iffe://prod/a",
        "spiffe://prod/a b",
        "spiffe://prod/\n",
        "spiffe://pröd/a",
        "prod/a",
        "urn:a:b",
        &long,
    ] {
        assert_eq!(UriPattern::parse(text), None, "{text}");
    }
}

#[test]
fn a_network_takes_ip_literals_and_no_names() {
    assert!(permits("10.0.0.0/8:*", "10.1.2.3:1") && permits("10.0.0.0/8:*", "10.255.255.255:65535"));
    assert!(!permits("10.0.0.0/8:*", "11.0.0.0:1") && !permits("10.0.0.0/8:*", "ten.example:1"));
    assert!(permits("10.0.0.1:443", "10.0.0.1:443") && !permits("10.0.0.1:443", "10.0.0.2:443"));
    assert!(permits("0.0.0.0/0:*", "192.0.2.1:1") && !permits("0.0.0.0/0:*", "[::1]:1"));
    assert!(permits("[fd00::/8]:443", "[fd12::1]:443") && !permits("[fd00::/8]:443", "[fe80::1]:443"));
    assert!(permits("[::1]:*", "[::1]:1") && permits("[::1]:*", "[0:0:0:0:0:0:0:1]:1"));
    assert!(!permits("[::/0]:*", "10.0.0.1:1"));
}

#[test]
fn a_name_rule_takes_names_and_no_ip_literals() {
    assert!(permits("*.pylon.svc.cluster.local:50072", "p0.pylon.svc.cluster.local:50072"));
    assert!(permits("*.pylon.svc.cluster.local:50072", "P0.Pylon.svc.cluster.local.:50072"));
    assert!(!permits("*.pylon.svc.cluster.local:50072", "pylon.svc.cluster.local:50072"));
    assert!(!permits("*.pylon.svc.cluster.local:50072", "a.b.pylon.svc.cluster.local:50072"));
    assert!(permits("pylon.example:*", "pylon.example:9") && !permits("pylon.example:*", "10.0.0.1:9"));
}

#[test]
fn ipv4_mapped_ipv6_is_ipv4_on_either_side() {
    assert!(permits("10.0.0.0/8:*", "[::ffff:10.0.0.1]:1"));
    assert!(!permits("10.0.0.0/8:*", "[::ffff:11.0.0.1]:1"));
    assert!(permits("[::ffff:10.0.0.0/104]:*", "10.1.2.3:1") && !permits("[::ffff:10.0.0.0/104]:*", "11.1.2.3:1"));
    assert!(permits("[::ffff:10.0.0.1]:*", "10.0.0.1:1") && !permits("[::ffff:10.0.0.1]:*", "10.0.0.2:1"));
    assert!(!permits("[::ffff:0:0/96]:*", "[::1]:1") && permits("[::ffff:0:0/96]:*", "192.0.2.1:1"));
    // Not by being built by hand either.
    let by_hand = HostPort { host: "::ffff:10.0.0.1".into(), port: 1 };
    assert!(DestinationRules(vec![DestinationRule::parse("10.0.0.0/8:*").unwrap()]).permits(&by_hand));
}

#[test]
fn a_port_is_one_or_any() {
    assert!(permits("a.example:443", "a.example:443") && !permits("a.example:443", "a.example:444"));
    assert!(permits("a.example:*", "a.example:1") && permits("a.example:*", "a.example:65535"));
    let rules = ["a.example:1", "b.example:2"].map(|rule| DestinationRule::parse(rule).unwrap());
    let rules = DestinationRules(rules.to_vec());
    assert!(rules.permits(&to("a.example:1")) && rules.permits(&to("b.example:2")));
    assert!(!rules.permits(&to("a.example:2")) && !rules.permits(&to("b.example:1")));
    assert!(!DestinationRules::default().permits(&to("a.example:1")));
}

#[test]
fn what_is_no_destination_rule() {
    for text in [
        "",
        ":",
        ":443",
        "*:443",
        "*",
        "a.example",
        "a.example:",
        "a.example:0",
        "a.example:65536",
        "a.example:+5",
        "a.example:-1",
        "a.example: 1",
        "a.example:**",
        "10.0.0.0/8",
        "10.0.0.1/8:*",
        "10.0.0.0/33:*",
        "10.0.0/8:*",
        "010.0.0.1:1",
        "fd00::/8:443",
        "::1:443",
        "[fd00::1/8]:*",
        "[fd00::/129]:*",
        "[10.0.0.0/8]:*",
        "[a.example]:1",
        "[::1]",
        "[::1:443",
        "::1]:443",
        "[fe80::1%eth0]:1",
        "quic://a.example:1",
        "a.example/8:1",
    ] {
        assert_eq!(DestinationRule::parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_pattern_or_not(text in any::<String>(), name in any::<String>()) {
        if let Some(pattern) = DnsPattern::parse(&text) {
            pattern.matches(&name);
            prop_assert!(pattern.matches(pattern.as_str()) && pattern.is_covered_by(pattern.as_str()));
            prop_assert_eq!(DnsPattern::parse(pattern.as_str()), Some(pattern));
        }
        if let Some(pattern) = UriPattern::parse(&text) {
            pattern.matches(&name);
            prop_assert_eq!(UriPattern::parse(pattern.as_str()), Some(pattern));
        }
        DestinationRule::parse(&text);
        HostPort::parse(&text);
    }

    #[test]
    fn a_wildcard_takes_every_single_label(label in "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", parent in "[a-z]{1,9}(\\.[a-z]{1,9}){0,3}") {
        let pattern = dns(&format!("*.{parent}"));
        let one = format!("{label}.{parent}");
        let two = format!("{label}.{label}.{parent}");
        prop_assert!(pattern.matches(&one));
        prop_assert!(!pattern.matches(&two) && !pattern.matches(&parent));
        prop_assert!(dns(&one).is_covered_by(pattern.as_str()));
    }

    #[test]
    fn a_network_takes_exactly_its_addresses(address in any::<u32>(), prefix in 0u8..=32, other in any::<u32>(), port in 1u16..) {
        let network = Ipv4Net::new(address.into(), prefix).unwrap().trunc();
        let rule = format!("{network}:*");
        let inside = u64::from(other) >> (32 - prefix) == u64::from(u32::from(network.addr())) >> (32 - prefix);
        let address = Ipv4Addr::from(other);
        prop_assert_eq!(permits(&rule, &format!("{address}:{port}")), inside);
        prop_assert_eq!(permits(&rule, &format!("[::ffff:{address}]:{port}")), inside);
    }
}
