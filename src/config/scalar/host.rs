//! Hosts and ports.

use std::{fmt, net::IpAddr};

use super::digits;

/// A host, name or IP literal, and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A DNS name in lower case, as written with or without a trailing dot, or an IP literal without brackets.
    pub host: String,
    /// The port, never 0.
    pub port: u16,
}

impl HostPort {
    /// `name:port`, `a.b.c.d:port` or `[v6]:port`; `None` for anything else, port 0 included. An IPv4-mapped IPv6
    /// literal becomes the IPv4 one that it reaches.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = split(text)?;
        let port = port.filter(|port| *port != 0)?;
        let host = match host {
            Host::Address(address) => address.to_string(),
            Host::Name(name) => name.to_ascii_lowercase(),
        };
        Some(Self { host, port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

pub(super) enum Host<'a> {
    Address(IpAddr),
    Name(&'a str),
}

/// A host and its port, `None` for a port that is left out.
pub(super) fn split(text: &str) -> Option<(Host<'_>, Option<u16>)> {
    let (host, port) = match text.rfind(':') {
        // The colons of a bracketed literal without a port.
        Some(_) if text.starts_with('[') && text.ends_with(']') => (text, None),
        Some(colon) => (&text[..colon], Some(port(&text[colon + 1..])?)),
        None => (text, None),
    };
    Some((parse(host)?, port))
}

/// A DNS name, an IPv4 literal, or an IPv6 literal in brackets.
fn parse(text: &str) -> Option<Host<'_>> {
    let address = match text.strip_prefix('[') {
        Some(rest) => Some(IpAddr::V6(rest.strip_suffix(']')?.parse().ok()?)),
        None => text.parse().ok().map(IpAddr::V4),
    };
    match address {
        Some(address) => Some(Host::Address(address.to_canonical())),
        None => is_dns_name(text.strip_suffix('.').unwrap_or(text)).then_some(Host::Name(text)),
    }
}

/// A port: digits alone, so that `+5` and an empty text are none.
pub(super) fn port(text: &str) -> Option<u16> {
    digits(text)?.try_into().ok()
}

/// Whether `text` is a DNS name that can stand in a certificate (RFC 1123 section 2.1, underscore tolerated), without
/// a trailing dot.
pub fn is_dns_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(is_label)
        && !text.rsplit('.').next().is_some_and(is_number)
}

/// Whether `text` is one label of a DNS name.
pub(super) fn is_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Whether a resolver would take a name that ends in this label for an IPv4 literal (`127.1`, `0x7f000001`).
fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    hex.map_or_else(
        || label.bytes().all(|b| b.is_ascii_digit()),
        |digits| digits.bytes().all(|b| b.is_ascii_hexdigit()),
    )
}
