//! What is probed, and the other words of the command line.

use std::time::Duration;

use rustls::pki_types::ServerName;

use crate::{config::scalar::duration, plan::HostPort};

/// What the other end is to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Scheme {
    /// `tls://`
    Tls,
    /// `quic://`
    Quic,
}

/// An address with its scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Target {
    pub(super) scheme: Scheme,
    pub(super) to: HostPort,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = match self.scheme {
            Scheme::Tls => "tls",
            Scheme::Quic => "quic",
        };
        write!(f, "{scheme}://{}", self.to)
    }
}

/// `tls://host:port` or `quic://host:port`.
pub(in crate::cli) fn target(text: &str) -> Result<Target, String> {
    let (scheme, rest) = match text.split_once("://") {
        Some(("tls", rest)) => (Scheme::Tls, rest),
        Some(("quic", rest)) => (Scheme::Quic, rest),
        Some((other, _)) => return Err(format!("{other:?} is no scheme that can be probed: tls:// or quic://")),
        None => return Err("say what to speak: tls://host:port or quic://host:port".into()),
    };
    let to = HostPort::parse(rest).ok_or("expected host:port behind the scheme, an IPv6 address in brackets")?;
    Ok(Target { scheme, to })
}

/// A name that a certificate can bear.
pub(in crate::cli) fn server_name(text: &str) -> Result<ServerName<'static>, String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    ServerName::try_from(name.to_owned()).map_err(|_| "neither a DNS name nor an IP address".into())
}

/// An application protocol (RFC 7301 section 3.1).
pub(in crate::cli) fn protocol(text: &str) -> Result<String, String> {
    if (1..=255).contains(&text.len()) { Ok(text.to_owned()) } else { Err("1 to 255 octets".into()) }
}

/// A time that is none too long and not nothing.
pub(in crate::cli) fn timeout(text: &str) -> Result<Duration, String> {
    let time = duration::parse(text).map_err(|fault| fault.expected)?;
    let permitted = Duration::from_millis(1)..=Duration::from_secs(600);
    if permitted.contains(&time) { Ok(time) } else { Err("from 1ms to 10m".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_scheme_a_host_and_a_port() {
        for text in ["tls://edge.example:50071", "quic://10.0.0.1:50072", "quic://[2001:db8::1]:1"] {
            assert_eq!(target(text).unwrap().to_string(), text);
        }
        for text in ["edge.example:50071", "https://edge.example:1", "tls://edge.example", "tls://::1:1", "tls://a:0"] {
            target(text).unwrap_err();
        }
    }

    #[test]
    fn words_are_bounded() {
        assert_eq!(server_name("edge.example.").unwrap().to_str(), "edge.example");
        assert!(server_name("a b").is_err() && protocol("").is_err() && protocol(&"x".repeat(256)).is_err());
        assert_eq!(timeout("2s").unwrap(), Duration::from_secs(2));
        assert!(timeout("0s").is_err() && timeout("11m").is_err() && timeout("5").is_err());
    }
}
