//! From a destination to addresses.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use super::Failure;
use crate::{
    observe::labels::HandshakeFailure,
    plan::{Destination, HostPort},
};

/// More addresses of one name than this are not tried.
const MOST_CANDIDATES: usize = 8;

/// The destination to dial: the one of the file, or the one that was asked for when the rules permit it.
pub(super) fn destination(destination: &Destination, requested: Option<&str>) -> Result<HostPort, Failure> {
    match (destination, requested) {
        (Destination::Fixed(fixed), _) => Ok(fixed.clone()),
        (Destination::Requested(_), None) => {
            Err((HandshakeFailure::DestinationNotAllowed, "the component names no destination".into()))
        }
        (Destination::Requested(rules), Some(requested)) => {
            let parsed = HostPort::parse(requested)
                .ok_or_else(|| (HandshakeFailure::DestinationNotAllowed, format!("{requested:?} is not host:port")))?;
            if rules.permits(&parsed) {
                Ok(parsed)
            } else {
                Err((HandshakeFailure::DestinationNotAllowed, format!("{parsed} is outside allow.destinations")))
            }
        }
    }
}

/// The addresses of a destination, in the resolver's order, families alternating so that a broken one costs one attempt.
pub(crate) async fn addresses(destination: &HostPort) -> Result<Vec<SocketAddr>, Failure> {
    if let Ok(literal) = destination.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(literal, destination.port)]);
    }
    let found = tokio::net::lookup_host((destination.host.as_str(), destination.port))
        .await
        .map_err(|error| (HandshakeFailure::Unreachable, format!("cannot resolve {}: {error}", destination.host)))?;
    let found = interleave(found.collect());
    if found.is_empty() {
        return Err((HandshakeFailure::Unreachable, format!("{} has no address", destination.host)));
    }
    Ok(found)
}

fn interleave(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = found.first().is_some_and(SocketAddr::is_ipv6);
    let (preferred, other): (Vec<_>, Vec<_>) = found.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let mut other = other.into_iter();
    let mut mixed: Vec<SocketAddr> = Vec::new();
    for address in preferred {
        mixed.push(address);
        mixed.extend(other.next());
    }
    mixed.extend(other);
    mixed.dedup();
    mixed.truncate(MOST_CANDIDATES);
    mixed
}

/// What one of `candidates_left` candidates may take of the time that is left.
pub(crate) fn share(left: Duration, candidates_left: usize) -> Duration {
    left / u32::try_from(candidates_left.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requested_destination_is_host_and_port() {
        for (text, expected) in [
            ("10.0.0.1:50072", Some("10.0.0.1:50072")),
            ("[::1]:1", Some("[::1]:1")),
            ("Pylon-0.pylon.svc:9", Some("pylon-0.pylon.svc:9")),
            ("::1:1", None),
            ("pylon", None),
            ("pylon:0", None),
            ("pylon:65536", None),
            (":1", None),
            ("a b:1", None),
            ("[10.0.0.1]:1", None),
        ] {
            assert_eq!(HostPort::parse(text).map(|parsed| parsed.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn families_alternate() {
        let addresses = ["1.0.0.1:1", "1.0.0.2:1", "[1::]:1", "[2::]:1", "1.0.0.3:1"];
        let mixed = interleave(addresses.iter().map(|address| address.parse().unwrap()).collect());
        let texts: Vec<_> = mixed.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["1.0.0.1:1", "[1::]:1", "1.0.0.2:1", "[2::]:1", "1.0.0.3:1"]);
    }
}
