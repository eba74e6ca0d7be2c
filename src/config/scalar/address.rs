//! The addresses of `listen`, `dial` and `admin`: URIs with an explicit scheme.

use std::net::{IpAddr, SocketAddr};

use super::{
    Parsed,
    host::{self, Host, HostPort, is_dns_name},
    scheme::{self, Scheme},
};
use crate::config::{
    keys::REQUESTED,
    problem::{Fault, shown},
};

/// Where a listener accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    /// What it speaks.
    pub scheme: Scheme,
    /// Where. Port 0 takes a free one.
    pub address: SocketAddr,
}

/// Where an upstream dials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dial {
    /// What it speaks.
    pub scheme: Scheme,
    /// Where.
    pub target: Target,
}

/// The place to dial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The file says.
    Fixed(HostPort),
    /// The component says.
    Requested,
}

/// The server name that an upstream is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerName {
    /// The one that the component, or the peer of a secured listener, asked for.
    Requested,
    /// Always this one: a DNS name in lower case without a trailing dot, or an IP literal.
    Fixed(String),
}

/// Parses the address of a listener.
pub fn listen(text: &str) -> Parsed<Listen> {
    let (scheme, rest) = scheme::split(text)?;
    Ok(Listen { scheme, address: socket(rest, scheme.prefix())? })
}

/// Parses the address of an upstream.
pub fn dial(text: &str) -> Parsed<Dial> {
    let (scheme, rest) = scheme::split(text)?;
    let form = format!("`{scheme}host:port`");
    if rest == REQUESTED {
        if !scheme.is_secured() {
            let fault = Fault::new(format!("`{scheme}` has no requested destination"), form);
            return Err(fault.hint(Some("only a secured upstream dials where the component says".into())));
        }
        return Ok(Dial { scheme, target: Target::Requested });
    }
    if rest.strip_prefix(REQUESTED).is_some_and(|rest| rest.starts_with(':')) {
        let fault = Fault::new("`requested` takes no port", format!("`{scheme}{REQUESTED}` or {form}"));
        return Err(fault.hint(Some("the component names host and port".into())));
    }
    match HostPort::parse(rest) {
        Some(target) => Ok(Dial { scheme, target: Target::Fixed(target) }),
        None => Err(Fault::new(format!("{} is {}", shown(rest), why_not(rest)), form)),
    }
}

/// Parses an address of the operator's HTTP.
pub fn http(text: &str) -> Parsed<SocketAddr> {
    let Some(rest) = text.strip_prefix("http://") else {
        let wrong = match text.split_once("://") {
            Some((scheme, _)) => format!("the scheme is {}", shown(&format!("{scheme}://"))),
            None => format!("{} has no scheme", shown(text)),
        };
        return Err(Fault::new(wrong, "`http://` with an IP address and a port"));
    };
    socket(rest.strip_suffix('/').unwrap_or(rest), "http://")
}

/// Parses a server name.
pub fn server_name(text: &str) -> Parsed<ServerName> {
    if text == REQUESTED {
        return Ok(ServerName::Requested);
    }
    let bare = text.strip_suffix('.').unwrap_or(text);
    if is_dns_name(bare) {
        return Ok(ServerName::Fixed(bare.to_ascii_lowercase()));
    }
    let literal = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    match literal.parse::<IpAddr>() {
        Ok(address) => Ok(ServerName::Fixed(address.to_canonical().to_string())),
        Err(_) => Err(Fault::new(
            format!("{} is no server name", shown(text)),
            format!("a DNS name, an IP literal, or `{REQUESTED}`"),
        )),
    }
}

fn socket(rest: &str, prefix: &str) -> Parsed<SocketAddr> {
    let form =
        format!("`{prefix}` with an IP address and a port, such as `{prefix}127.0.0.1:4433` or `{prefix}[::]:4433`");
    match host::split(rest) {
        Some((Host::Address(address), Some(port))) => Ok(SocketAddr::new(address, port)),
        Some((Host::Name(name), Some(_))) => Err(Fault::new(format!("{} is a name", shown(name)), form)),
        _ => Err(Fault::new(format!("{} is {}", shown(rest), why_not(rest)), form)),
    }
}

/// What is wrong with a text that is not host and port.
fn why_not(text: &str) -> &'static str {
    let bracketed = text.starts_with('[');
    match host::split(text) {
        Some((_, None)) => "an address without a port",
        Some((_, Some(0))) => "an address with port 0",
        _ if text.contains('@') => "an address with credentials",
        _ if text.contains(['/', '?', '#']) => "more than host and port",
        _ if !bracketed && text.matches(':').count() > 1 => "no host and port (an IPv6 literal stands in brackets)",
        _ => "no host and port",
    }
}
