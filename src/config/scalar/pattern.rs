//! Patterns over names and destinations.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{
    Parsed,
    host::{self, HostPort, is_dns_name, is_label},
};
use crate::config::problem::{Fault, shown};

/// Longest URI of a SPIFFE identity, in bytes.
const MAX_URI: usize = 2048;

/// A DNS name, or one whose leftmost label is `*`: that stands for exactly one label (RFC 6125 section 6.4.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsPattern(String);

impl DnsPattern {
    /// A pattern in lower case, without a trailing dot; `None` when `text` is neither a DNS name nor `*.` and a DNS name.
    pub fn parse(text: &str) -> Option<Self> {
        let text = without_dot(text).to_ascii_lowercase();
        let name = text.strip_prefix("*.").unwrap_or(&text);
        (is_dns_name(name) && text.len() <= 253).then_some(Self(text))
    }

    /// Whether `name` fits. Case and one trailing dot are ignored; an IP literal never fits.
    pub fn matches(&self, name: &str) -> bool {
        let name = without_dot(name);
        match self.0.strip_prefix("*.") {
            None => self.0.eq_ignore_ascii_case(name),
            Some(parent) => name.split_once('.').is_some_and(|(label, rest)| {
                // A certificate that bears the wildcard itself covers no more than the pattern does.
                (is_label(label) || label == "*") && rest.eq_ignore_ascii_case(parent)
            }),
        }
    }

    /// Whether a certificate that bears `san` serves every name of this pattern.
    pub fn is_covered_by(&self, san: &str) -> bool {
        let san = without_dot(san);
        self.0.eq_ignore_ascii_case(san)
            || (!self.0.starts_with('*') && Self::parse(san).is_some_and(|san| san.matches(&self.0)))
    }

    /// The pattern, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
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
    /// A pattern; `None` without a scheme or an authority, or with `*` anywhere but at the end of a path.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let body = rest.strip_suffix('*').unwrap_or(rest);
        let well_formed = text.len() <= MAX_URI
            && text.bytes().all(|b| b.is_ascii_graphic())
            && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
            && !body.is_empty()
            && !body.starts_with('/')
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
    /// `network:port`, `address:port`, `name:port` or `*.name:port`, with `*` for any port. IPv6 stands in brackets,
    /// with its prefix length: `[fd00::/8]:443`. A network has no bits behind its prefix.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = match port {
            "*" => None,
            number => Some(host::port(number).filter(|port| *port != 0)?),
        };
        let hosts = match host.strip_prefix('[') {
            Some(rest) => HostRule::Network(IpNet::V6(network::<Ipv6Net, Ipv6Addr>(rest.strip_suffix(']')?)?)),
            None => match network::<Ipv4Net, Ipv4Addr>(host) {
                Some(network) => HostRule::Network(IpNet::V4(network)),
                None => HostRule::Name(DnsPattern::parse(host)?),
            },
        };
        Some(Self { hosts: hosts.canonical()?, port })
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

impl HostRule {
    /// The same hosts as destinations name them: IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2) as IPv4. `None` for a
    /// network with bits behind its prefix, of which nobody can say what was meant.
    fn canonical(self) -> Option<Self> {
        let Self::Network(network) = self else { return Some(self) };
        if network.trunc() != network {
            return None;
        }
        let mapped = match network {
            IpNet::V6(v6) if v6.prefix_len() >= 96 => v6.addr().to_ipv4_mapped().zip(v6.prefix_len().checked_sub(96)),
            IpNet::V4(_) | IpNet::V6(_) => None,
        };
        Some(Self::Network(match mapped {
            Some((address, prefix)) => IpNet::new(address.into(), prefix).ok()?,
            None => network,
        }))
    }
}

/// An address with a prefix length, or a single address.
fn network<N, A>(text: &str) -> Option<N>
where
    N: FromStr + From<A>,
    A: FromStr,
{
    text.parse::<N>().ok().or_else(|| text.parse::<A>().ok().map(N::from))
}

/// Parses a [`DnsPattern`] of a file.
pub fn dns(text: &str) -> Parsed<DnsPattern> {
    DnsPattern::parse(text)
        .ok_or_else(|| Fault::new(format!("{} is no DNS pattern", shown(text)), "a DNS name, or `*.` and a DNS name"))
}

/// Parses a [`UriPattern`] of a file.
pub fn uri(text: &str) -> Parsed<UriPattern> {
    UriPattern::parse(text).ok_or_else(|| {
        Fault::new(
            format!("{} is no URI pattern", shown(text)),
            "a URI such as `spiffe://domain/workload`, or the beginning of one, up to some `/` at least, and `*`",
        )
    })
}

/// Parses a [`DestinationRule`] of a file.
pub fn destination(text: &str) -> Parsed<DestinationRule> {
    DestinationRule::parse(text).ok_or_else(|| {
        Fault::new(
            format!("{} is no destination pattern", shown(text)),
            "`10.0.0.0/8:*`, `[fd00::/8]:443`, `name:443` or `*.name:443`: a network without bits behind its prefix, \
             or a name, and a port or `*`",
        )
    })
}

#[cfg(test)]
mod tests;
