//! Patterns over names and destinations.

use std::{fmt, net::IpAddr};

use ipnet::IpNet;

use super::HostPort;

/// A DNS name, or one whose leftmost label is `*`: that stands for exactly one label (RFC 6125 section 6.4.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsPattern(String);

impl DnsPattern {
    /// A pattern in lower case, without a trailing dot; `None` when `text` is neither a DNS name nor `*.` and a DNS name.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end_matches('.').to_ascii_lowercase();
        is_dns_name(text.strip_prefix("*.").unwrap_or(&text)).then_some(Self(text))
    }

    /// Whether `name` fits. Case and a trailing dot are ignored.
    pub fn matches(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        match self.0.strip_prefix("*.") {
            None => self.0.eq_ignore_ascii_case(name),
            Some(parent) => {
                name.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && rest.eq_ignore_ascii_case(parent))
            }
        }
    }

    /// Whether a certificate that bears `san` serves every name of this pattern.
    pub fn is_covered_by(&self, san: &str) -> bool {
        let san = san.strip_suffix('.').unwrap_or(san);
        self.0.eq_ignore_ascii_case(san)
            || (!self.0.starts_with('*') && DnsPattern::parse(san).is_some_and(|san| san.matches(&self.0)))
    }

    /// The pattern as written, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DnsPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A URI, or a prefix of one that ends in `*`. Compared byte by byte (RFC 5280 section 7.4: no normalization here).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriPattern(String);

impl UriPattern {
    /// A pattern; `None` without a scheme, or with `*` anywhere but at the end behind the authority's first character.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let body = rest.strip_suffix('*').unwrap_or(rest);
        let well_formed = !scheme.is_empty()
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
            && !body.is_empty()
            && !body.contains('*');
        // A prefix that ends inside the authority would let `spiffe://prod*` admit `spiffe://prod.evil`.
        (well_formed && (body.len() == rest.len() || body.contains('/'))).then(|| Self(text.to_owned()))
    }

    /// Whether `uri` fits.
    pub fn matches(&self, uri: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(prefix) => uri.starts_with(prefix),
            None => self.0 == uri,
        }
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Names of which a certificate must bear one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamePatterns {
    /// Against DNS names of the SAN.
    pub dns: Vec<DnsPattern>,
    /// Against URIs of the SAN.
    pub uri: Vec<UriPattern>,
}

/// Destinations that a component may ask for. Empty: none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DestinationRules(pub Vec<DestinationRule>);

/// One permitted kind of destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestinationRule {
    /// Which hosts.
    pub hosts: HostRule,
    /// Which port. `None`: any.
    pub port: Option<u16>,
}

/// Which hosts a rule permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRule {
    /// IP literals in this network. Names are never resolved to be judged.
    Network(IpNet),
    /// Names that fit; `*.` stands for one label.
    Name(DnsPattern),
}

impl DestinationRules {
    /// Whether some rule permits `destination`.
    pub fn permits(&self, destination: &HostPort) -> bool {
        self.0.iter().any(|rule| rule.permits(destination))
    }
}

impl DestinationRule {
    /// `network:port`, `name:port` or `*.name:port`, with `*` for any port; IPv6 networks in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = match port {
            "*" => None,
            number => Some(number.parse::<u16>().ok().filter(|port| *port != 0)?),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let hosts = if let Ok(network) = bare.parse::<IpNet>() {
            HostRule::Network(network)
        } else if let Ok(address) = bare.parse::<IpAddr>() {
            HostRule::Network(address.into())
        } else {
            HostRule::Name(DnsPattern::parse(host)?)
        };
        Some(Self { hosts, port })
    }

    fn permits(&self, destination: &HostPort) -> bool {
        let host = match (&self.hosts, destination.host.parse::<IpAddr>()) {
            (HostRule::Network(network), Ok(address)) => network.contains(&address.to_canonical()),
            (HostRule::Name(pattern), Err(_)) => pattern.matches(&destination.host),
            _ => false,
        };
        host && self.port.is_none_or(|port| port == destination.port)
    }
}

/// Whether `text` is a DNS name that can stand in a certificate (RFC 1123 section 2.1, underscore tolerated).
pub fn is_dns_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
        // An all-numeric last label would be read as an IPv4 literal.
        && !text.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()))
}
