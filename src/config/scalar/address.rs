//! The addresses of `listen`, `dial` and `admin`: URIs with an explicit scheme.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

use super::{
    Parsed,
    host::{self, Host, HostPort, is_dns_name},
    scheme::{self, Scheme, Socket},
};
use crate::config::{
    keys::REQUESTED,
    problem::{Fault, shown},
};

/// Where a listener accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// What it speaks.
    pub scheme: Scheme,
    /// Where.
    pub place: Place,
}

/// A place to bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An address and a port. Port 0 takes a free one.
    Socket(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Place {
    /// The address, where it is one.
    pub fn socket(&self) -> Option<SocketAddr> {
        match self {
            Self::Socket(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
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
    /// A Unix socket.
    Unix(PathBuf),
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
    let place = match scheme.socket() {
        Socket::Unix => Place::Unix(unix_path(rest)?),
        Socket::Udp | Socket::Tcp => Place::Socket(socket(rest, scheme.prefix())?),
    };
    Ok(Listen { scheme, place })
}

/// Parses the address of an upstream.
pub fn dial(text: &str) -> Parsed<Dial> {
    let (scheme, rest) = scheme::split(text)?;
    if scheme.socket() == Socket::Unix {
        return Ok(Dial { scheme, target: Target::Unix(unix_path(rest)?) });
    }
    let form = format!("`{scheme}host:port`");
    if rest == REQUESTED {
        if !scheme.is_secured() || scheme.unit() == scheme::Unit::Stream {
            let fault = Fault::new(format!("`{scheme}` has no requested destination"), form);
            return Err(fault.hint(Some("only over `quic://` is dialled where the component says".into())));
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

/// The path of a Unix socket: absolute, and short enough for the kernel (`sun_path` of unix(7), with its closing NUL).
fn unix_path(text: &str) -> Parsed<PathBuf> {
    const MOST: usize = 107;
    let wrong = if text.starts_with("//") {
        "a path with `//` in front"
    } else if !text.starts_with('/') {
        "no absolute path"
    } else if text.ends_with('/') {
        "the path of a directory"
    } else if text.chars().any(char::is_control) {
        "a path with control characters"
    } else if text.len() > MOST {
        "longer than the path of a socket can be"
    } else {
        return Ok(PathBuf::from(text));
    };
    Err(Fault::new(format!("{} is {wrong}", shown(text)), format!("`unix:/path/of.sock`, {MOST} bytes at the most")))
}

/// The mode of a Unix socket: octal, as `chmod` takes it.
pub fn mode(text: &str) -> Parsed<u32> {
    let digits = text.strip_prefix('0').unwrap_or(text);
    let octal = digits.len() == 3 && digits.bytes().all(|b| (b'0'..=b'7').contains(&b));
    octal
        .then(|| u32::from_str_radix(digits, 8).ok())
        .flatten()
        .ok_or_else(|| Fault::new(format!("{} is no mode", shown(text)), "three octal digits, such as `\"0600\"`"))
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
