//! Upstreams.

use std::net::{IpAddr, SocketAddr};

use super::{Compiler, whole};
use crate::{
    config::{
        Field, Located, Spot,
        problem::{Fault, shown},
        scalar::{
            address::{Dial, ServerName, Target},
            host::HostPort,
            scheme::Scheme,
        },
        section::upstream::{self, Tls, Upstream},
    },
    plan::{
        Destination, DestinationRules, IdentityId, TrustId, Unit, UpstreamEnd, UpstreamPlan, UpstreamTls, Verification,
    },
};

impl Compiler<'_> {
    pub(super) fn all_upstreams(&self) -> Option<Vec<UpstreamPlan>> {
        whole(self.document.upstreams.value()?.iter().map(|upstream| {
            let end = self.upstream_end(upstream);
            let proxy_header = self.proxy_header(&upstream.value);
            Some(UpstreamPlan { name: upstream.value.name.value()?.clone(), end: end?, proxy_header: proxy_header? })
        }))
    }

    fn proxy_header(&self, upstream: &Upstream) -> Option<bool> {
        let written = match &upstream.proxy_protocol {
            Field::Absent => return Some(false),
            Field::Invalid => return None,
            Field::Given(written) => written,
        };
        let wanted = written.value == upstream::ProxyProtocol::V2;
        if wanted
            && let Some(dial) = upstream.dial.value()
            && (dial.scheme.unit() == Unit::Session || dial.scheme.is_secured())
        {
            let message = format!("a header of the PROXY protocol is for a component, and `{}` is none", dial.scheme);
            self.report(&written.spot, Fault::new(message, "an upstream with `tcp://` or `unix:`"));
        }
        Some(wanted)
    }

    fn upstream_end(&self, upstream: &Located<Upstream>) -> Option<UpstreamEnd> {
        let Upstream { dial, allow, tls, .. } = &upstream.value;
        // References are looked up whatever else is wrong.
        let secured = dial.value().map(|dial| dial.scheme.is_secured());
        let tls_plan = match tls {
            Field::Given(tls) if secured != Some(false) => self.upstream_tls(tls, dial.value()),
            Field::Given(_) | Field::Absent | Field::Invalid => None,
        };
        let Dial { scheme, target } = dial.value()?;
        self.check_tls(&upstream.spot, *scheme, tls);
        let destination = match target {
            Target::Fixed(host) => {
                self.check_fixed(*scheme, allow);
                Some(Destination::Fixed(host.clone()))
            }
            Target::Requested => self.requested(upstream).map(Destination::Requested),
            Target::Unix(path) => {
                self.check_fixed(*scheme, allow);
                return Some(UpstreamEnd::Unix(path.clone()));
            }
        };
        match (scheme, destination?) {
            (Scheme::Quic, destination) => Some(UpstreamEnd::Quic { destination, tls: tls_plan? }),
            (Scheme::QuicPlaintext, Destination::Fixed(host)) => {
                self.loopback(dial.given()?, &host).map(UpstreamEnd::LoopbackQuic)
            }
            (Scheme::Tls, Destination::Fixed(to)) => Some(UpstreamEnd::Tls { to, tls: tls_plan? }),
            (Scheme::Tcp, Destination::Fixed(host)) => self.loopback(dial.given()?, &host).map(UpstreamEnd::Tcp),
            // Not carried yet, or plaintext with no fixed destination: refused where addresses are read.
            _ => None,
        }
    }

    fn check_fixed(&self, scheme: Scheme, allow: &Field<upstream::Allow>) {
        if let Some(allow) = allow.given() {
            let message = "`allow` is for destinations that a component asks for, and this one is fixed";
            let allowed = match scheme {
                Scheme::Quic => format!("`dial: {scheme}requested`, or no `allow`"),
                _ => "no `allow`".to_owned(),
            };
            self.report(&allow.spot, Fault::new(message, allowed));
        }
    }

    fn requested(&self, upstream: &Located<Upstream>) -> Option<DestinationRules> {
        match &upstream.value.allow {
            Field::Invalid => None,
            Field::Absent => {
                let message = "a component may name the destination, and nothing says which";
                self.report(&upstream.spot, Fault::new(message, "`allow: { destinations: [ ... ] }`"));
                None
            }
            Field::Given(allow) => {
                let rules = allow.value.destinations.value()?;
                Some(DestinationRules(rules.iter().map(|rule| rule.value.clone()).collect()))
            }
        }
    }

    fn upstream_tls(&self, tls: &Located<Tls>, dial: Option<&Dial>) -> Option<UpstreamTls> {
        let verification = self.verification(tls);
        let identity = self.refer_if_given(&self.identities, &tls.value.identity);
        let policy = self.policy(&tls.value.policy, dial.map(|dial| dial.scheme));
        let alpn = match &tls.value.alpn {
            Field::Invalid => None,
            Field::Absent => Some(Vec::new()),
            Field::Given(written) => {
                self.check_twice(&written.value, |protocol| shown(&String::from_utf8_lossy(protocol)));
                Some(written.value.iter().map(|protocol| protocol.value.clone()).collect())
            }
        };
        let server_name = match (&tls.value.server_name, dial.map(|dial| &dial.target)) {
            (Field::Given(name), _) => Some(name.value.clone()),
            (Field::Absent, Some(Target::Fixed(host))) => Some(name_of(host)),
            (Field::Absent, Some(Target::Requested)) => {
                let message = "no `server_name`, and no fixed host in `dial` to take it from";
                self.report(&tls.spot, Fault::new(message, "`server_name: requested`, or a fixed name"));
                None
            }
            (Field::Absent, None | Some(Target::Unix(_))) | (Field::Invalid, _) => None,
        };
        Some(UpstreamTls {
            verification: verification?,
            server_name: server_name?,
            identity: identity?.map(IdentityId),
            alpn: alpn?,
            policy: policy?,
        })
    }

    fn verification(&self, tls: &Located<Tls>) -> Option<Verification> {
        let trust = self.refer_if_given(&self.trust, &tls.value.trust);
        match &tls.value.verification {
            Field::Invalid => None,
            Field::Given(disabled) if disabled.value == upstream::Verification::Disabled => {
                if let Some(trust) = tls.value.trust.given() {
                    let fault = Fault::new("`trust` has no meaning with `verification: disabled`", "one of the two");
                    self.report(&trust.spot, fault);
                }
                if !self.allows(|development| &development.allow_unverified_peers) {
                    let allowed = "`trust`, or `development: { allow_unverified_peers: true }`";
                    self.report(&disabled.spot, Fault::new("peers are not verified", allowed));
                }
                Some(Verification::Disabled)
            }
            Field::Absent | Field::Given(_) => match trust? {
                Some(trust) => Some(Verification::Trust(TrustId(trust))),
                None => {
                    self.report(
                        &tls.spot,
                        Fault::new("no `trust` to judge peers by", "`trust: <name of a trust bundle>`"),
                    );
                    None
                }
            },
        }
    }

    /// A plaintext destination: an IP literal on this machine.
    fn loopback(&self, dial: &Located<Dial>, host: &HostPort) -> Option<SocketAddr> {
        let Ok(address) = host.host.parse::<IpAddr>() else {
            let message = format!("plaintext to {}, a name", shown(&host.host));
            self.report(&dial.spot, Fault::new(message, "a loopback IP literal: 127.0.0.1 or [::1]"));
            return None;
        };
        let address = SocketAddr::new(address, host.port);
        self.check_plaintext(&dial.spot, address);
        Some(address)
    }

    /// A secured scheme needs `tls`, a plaintext one has no place for it.
    pub(super) fn check_tls<T>(&self, spot: &Spot, scheme: Scheme, tls: &Field<T>) {
        match (scheme.is_secured(), tls) {
            (true, Field::Absent) => {
                self.report(
                    spot,
                    Fault::new(format!("`{scheme}` carries TLS, and there is no `tls`"), "`tls: { ... }`"),
                );
            }
            (false, Field::Given(tls)) => {
                let secured: Vec<_> = Scheme::all()
                    .filter(|scheme| scheme.is_secured() && scheme.is_carried())
                    .map(|scheme| format!("`{scheme}`"))
                    .collect();
                let allowed = format!("no `tls`, or an address with {}", secured.join(", "));
                self.report(&tls.spot, Fault::new(format!("`{scheme}` carries no TLS"), allowed));
            }
            _ => {}
        }
    }
}

/// The server name of a host that is dialled: itself, without the dot that makes it absolute.
fn name_of(host: &HostPort) -> ServerName {
    ServerName::Fixed(host.host.strip_suffix('.').unwrap_or(&host.host).to_owned())
}
