//! No two listeners on one address.

use std::net::{IpAddr, SocketAddr};

use super::Compiler;
use crate::config::{
    Spot,
    problem::Fault,
    scalar::{address::Place, scheme::Socket},
};

impl Compiler<'_> {
    /// Reports listeners that the system would not let bind beside an earlier one.
    pub(super) fn check_sockets(&self) {
        let mut taken: Vec<(Socket, Place, &Spot)> = Vec::new();
        let admin = self.document.admin.value();
        let admin = admin.iter().flat_map(|admin| [&admin.listen, &admin.scrape]).filter_map(|field| field.given());
        let admin = admin.map(|given| (Socket::Tcp, Place::Socket(given.value), &given.spot));
        let listeners = self.document.listeners.value().into_iter().flatten();
        let listeners = listeners.filter_map(|listener| listener.value.listen.given());
        let listeners = listeners.map(|given| (given.value.scheme.socket(), given.value.place.clone(), &given.spot));
        for (socket, place, spot) in admin.chain(listeners) {
            let clash = taken.iter().find(|(other, at, _)| *other == socket && clash(at, &place));
            if let Some((_, at, first)) = clash {
                let message = format!("{place} is taken: {} listens on {at}", first.path);
                self.report(spot, Fault::new(message, "an address and port of its own for each listener"));
            } else {
                taken.push((socket, place, spot));
            }
        }
    }
}

fn clash(a: &Place, b: &Place) -> bool {
    match (a, b) {
        (Place::Socket(a), Place::Socket(b)) => overlap(*a, *b),
        (Place::Unix(a), Place::Unix(b)) => a == b,
        (Place::Socket(_), Place::Unix(_)) | (Place::Unix(_), Place::Socket(_)) => false,
    }
}

/// Whether one address takes packets of the other. `[::]` takes IPv4 as well.
fn overlap(a: SocketAddr, b: SocketAddr) -> bool {
    let covers = |wide: IpAddr, narrow: IpAddr| wide.is_unspecified() && (wide.is_ipv6() || narrow.is_ipv4());
    let (ip_a, ip_b) = (a.ip(), b.ip());
    a.port() == b.port() && a.port() != 0 && (ip_a == ip_b || covers(ip_a, ip_b) || covers(ip_b, ip_a))
}
