//! Routes: which listener may lead where, and which route is never reached.

use super::{Compiler, whole};
use crate::{
    config::{
        Field, Located,
        problem::Fault,
        scalar::{
            address::{Dial, ServerName, Target},
            pattern::DnsPattern,
            scheme::{Scheme, Unit},
        },
        section::listener::{Listener, Route},
    },
    plan::{RoutePlan, UpstreamId},
};

impl Compiler<'_> {
    pub(super) fn routes(&self, listener: &Located<Listener>) -> Option<Vec<RoutePlan>> {
        let routes = listener.value.routes.value()?;
        self.check_reachable(routes);
        let scheme = listener.value.listen.value().map(|listen| listen.scheme);
        whole(routes.iter().map(|route| {
            let Route { sni, client_auth, upstream } = &route.value;
            let client_auth_plan = self.client_auth(client_auth);
            if let (Some(false), Some(client_auth)) = (scheme.map(Scheme::is_secured), client_auth.given()) {
                let message = "client authentication needs TLS, and the listener is plaintext";
                self.report(&client_auth.spot, Fault::new(message, "no `client_auth`, or a secured listener"));
            }
            if let (Some(scheme), Some(sni)) = (scheme.filter(|scheme| !names_a_server(*scheme)), sni.given()) {
                let message = format!("nobody who comes by `{scheme}` asks for a server name, so this never fits");
                self.report(&sni.spot, Fault::new(message, "one route, without `sni`"));
            }
            let reference = upstream.given();
            let target = reference.and_then(|reference| self.refer(&self.upstreams, reference));
            if let (Some(reference), Some(target), Some(scheme)) = (reference, target, scheme) {
                self.check_pair(reference, scheme, target);
            }
            if sni.is_invalid() {
                return None;
            }
            Some(RoutePlan { sni: sni.value().cloned(), client_auth: client_auth_plan?, upstream: UpstreamId(target?) })
        }))
    }

    /// Plaintext to plaintext is no work for Iris, and only a component, over loopback QUIC, names a destination.
    fn check_pair(&self, reference: &Located<String>, scheme: Scheme, target: usize) {
        let Some(dial) = self.dial_of(target) else { return };
        let secured = scheme.is_secured();
        let names_destination = scheme == Scheme::QuicPlaintext;
        if !names_a_server(scheme) && self.passes_name_on(target) {
            let message = format!("`{scheme}` asks for no server name, and this upstream passes one on");
            self.report(&reference.spot, Fault::new(message, "an upstream with a fixed `server_name`"));
        }
        if !secured && !dial.scheme.is_secured() {
            let message = format!("plaintext leads to plaintext (`{}`)", dial.scheme);
            self.report(&reference.spot, Fault::new(message, "a secured upstream, or a secured listener"));
        }
        match (scheme.unit(), dial.scheme.unit()) {
            (Unit::Session, Unit::Stream) if !secured => {
                let message = format!("`{scheme}` carries many streams, and `{}` one a connection", dial.scheme);
                self.report(&reference.spot, Fault::new(message, "a listener with `quic://`, or an upstream with it"));
            }
            (Unit::Stream, Unit::Session) if self.passes_name_on(target) && names_a_server(scheme) => {
                let message =
                    "all who come here share one connection, and this upstream asks for each one's server name";
                self.report(&reference.spot, Fault::new(message, "an upstream with a fixed `server_name`"));
            }
            _ => {}
        }
        if !names_destination && dial.target == Target::Requested {
            let message = match secured {
                true => "a secured listener names no destination, and this upstream needs one".to_owned(),
                false => format!("`{scheme}` names no destination, and this upstream needs one"),
            };
            let allowed = "an upstream with a fixed `dial`, or a listener with `quic+plaintext://`";
            self.report(&reference.spot, Fault::new(message, allowed));
        }
    }

    /// The first route that fits decides: one whose names an earlier one takes all is never reached.
    fn check_reachable(&self, routes: &[Located<Route>]) {
        for (index, route) in routes.iter().enumerate() {
            let covers = |earlier: &Field<DnsPattern>| match (earlier, &route.value.sni) {
                (Field::Absent, _) => true,
                (Field::Given(earlier), Field::Given(this)) => this.value.is_covered_by(earlier.value.as_str()),
                (Field::Given(_) | Field::Invalid, _) => false,
            };
            if let Some(earlier) = routes[..index].iter().position(|earlier| covers(&earlier.value.sni)) {
                let message = format!("never reached: routes[{earlier}] takes everything that fits here");
                self.report(
                    &route.spot,
                    Fault::new(message, "the wider route behind the narrower one, the one without `sni` last"),
                );
            }
        }
    }

    /// A destination that a component names needs a listener that a component dials.
    pub(super) fn check_requested_upstreams(&self) {
        let (Some(listeners), Some(upstreams)) = (self.document.listeners.value(), self.document.upstreams.value())
        else {
            return;
        };
        let routes: Vec<_> = listeners.iter().filter_map(|one| one.value.routes.value()).flatten().collect();
        for (index, upstream) in upstreams.iter().enumerate() {
            let Some(dial) = upstream.value.dial.given().filter(|dial| dial.value.target == Target::Requested) else {
                continue;
            };
            let mut leads_here = routes.iter().filter_map(|route| route.value.upstream.value());
            let readable = routes.iter().all(|route| !route.value.upstream.is_invalid());
            if readable && !leads_here.any(|name| self.upstreams.position(name) == Some(index)) {
                let message = "no listener leads here, so nobody can name a destination";
                self.report(&dial.spot, Fault::new(message, "a plaintext listener with a route to this upstream"));
            }
        }
    }

    fn passes_name_on(&self, upstream: usize) -> bool {
        let tls = self.document.upstreams.value().and_then(|all| all.get(upstream)?.value.tls.value());
        tls.and_then(|tls| tls.server_name.value()).is_some_and(|name| *name == ServerName::Requested)
    }

    fn dial_of(&self, upstream: usize) -> Option<&Dial> {
        self.document.upstreams.value()?.get(upstream)?.value.dial.value()
    }
}

/// Whether connections of this scheme say which server they want.
fn names_a_server(scheme: Scheme) -> bool {
    scheme.is_secured() || scheme.unit() == Unit::Session
}
