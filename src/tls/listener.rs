//! The TLS configurations of one listener, and the choice among them when a ClientHello has been read.

use std::{fmt, sync::Arc};

use quinn::crypto::rustls::QuicServerConfig;
use rustls::{ServerConfig, server::danger::ClientCertVerifier};

use super::{alert::Alert, configs::DeriveError, server, standing::Standing, verify::ClientVerifier};
use crate::{
    material::{Authority, Generation, Generations, Identity},
    observe::labels::HandshakeFailure,
    plan::{
        AlpnPolicy, ClientAuth, DnsPattern, IdentityId, ListenerPlan, ListenerTls, NamePatterns, Plan, TlsPolicy, Unit,
    },
};

/// The TLS configurations of one listener: one for each identity, each way of client authentication, and with or
/// without application protocols.
pub struct ListenerConfigs {
    identities: Vec<Shown>,
    alpn: AlpnPolicy,
    routes: Vec<Route>,
    /// Distinct ways of client authentication. Routes point into it.
    auths: Vec<Auth>,
    /// At `(identity * auths + auth) * 2`, and one behind for peers that offer application protocols.
    configs: Vec<Config>,
}

struct Shown {
    id: IdentityId,
    generation: Arc<Generation<Identity>>,
    names: Vec<DnsPattern>,
}

struct Route {
    sni: Option<DnsPattern>,
    auth: usize,
}

struct Auth {
    plan: Option<ClientAuth>,
    authority: Option<Authority>,
}

/// One configuration, as each transport takes it.
pub struct Config {
    /// As rustls takes it.
    pub tls: Arc<ServerConfig>,
    /// As quinn takes it. `None` for a listener of another transport.
    pub quic: Option<Arc<QuicServerConfig>>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").finish_non_exhaustive()
    }
}

/// What was chosen for one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The server name that the peer asked for (RFC 6066 section 3).
    pub server_name: Option<String>,
    /// The application protocol, if the peer offered any.
    pub alpn: Option<Vec<u8>>,
    /// Position of the route in the listener's plan.
    pub route: usize,
    /// The generations that it stands on.
    pub standing: Standing,
}

/// Nothing was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// For the metric.
    pub failure: HandshakeFailure,
    /// For the peer.
    pub alert: Alert,
    /// For the log and the peer.
    pub reason: &'static str,
}

impl ListenerConfigs {
    /// All configurations of a listener, or `None` while one of its materials is missing: to do without one of several
    /// identities would be to show peers another one.
    pub(super) fn derive(
        plan: &Plan,
        listener: &ListenerPlan,
        tls: &ListenerTls,
        generations: &Generations,
    ) -> Result<Option<Self>, DeriveError> {
        let shown = |id: &IdentityId| Some(Shown::new(*id, generations.identity(*id)?.clone()));
        let Some(identities) = tls.identities.iter().map(shown).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let mut auths: Vec<Auth> = Vec::new();
        let mut routes = Vec::new();
        for route in &listener.routes {
            let wanted = route.client_auth.as_ref().or(tls.client_auth.as_ref());
            let known = auths.iter().position(|auth| auth.plan.as_ref() == wanted);
            let auth = match known {
                Some(position) => position,
                None => {
                    let Some(auth) = Auth::new(plan, wanted, generations) else { return Ok(None) };
                    auths.push(auth);
                    auths.len() - 1
                }
            };
            routes.push(Route { sni: route.sni.clone(), auth });
        }
        let mut configs = Vec::with_capacity(identities.len() * auths.len() * 2);
        for identity in &identities {
            for auth in &auths {
                for alpn in [Vec::new(), tls.alpn.protocols.clone()] {
                    configs.push(Config::new(identity, auth, alpn, (&tls.policy, listener.end.unit()))?);
                }
            }
        }
        Ok(Some(Self { identities, alpn: tls.alpn.clone(), routes, auths, configs }))
    }

    /// Chooses when a ClientHello has been read: the route by the server name, the application protocol by the
    /// listener's preference, the identity by the server name, client authentication by the route. `alpn` is what the
    /// peer offered; `None` without the extension (RFC 7301).
    ///
    /// # Errors
    /// No route fits, or no application protocol is shared.
    pub fn choose(&self, sni: Option<&str>, alpn: Option<&[&[u8]]>) -> Result<(Chosen, &Config), Refused> {
        let route = self.route(sni).ok_or(Refused {
            failure: HandshakeFailure::NoRoute,
            alert: Alert::UNRECOGNIZED_NAME,
            reason: "no route for this server name",
        })?;
        let protocol = self.protocol(alpn).ok_or(Refused {
            failure: HandshakeFailure::NoAlpn,
            alert: Alert::NO_APPLICATION_PROTOCOL,
            reason: "no application protocol in common",
        })?;
        let (identity, auth) = (self.identity(sni), self.routes[route].auth);
        let config = &self.configs[(identity * self.auths.len() + auth) * 2 + usize::from(protocol.is_some())];
        let shown = &self.identities[identity];
        let standing = Standing::new(Some((shown.id, &*shown.generation)), self.auths[auth].standing());
        let chosen =
            Chosen { server_name: sni.map(str::to_owned), alpn: protocol.map(<[u8]>::to_vec), route, standing };
        Ok((chosen, config))
    }

    /// Whom a route believes, and which names it allows: what the peers of its connections are judged by again when
    /// trust shrinks. `None` where it asks for no certificate.
    pub fn client_auth(&self, route: usize) -> Option<(&Authority, Option<&NamePatterns>)> {
        let auth = self.auths.get(self.routes.get(route)?.auth)?;
        Some((auth.authority.as_ref()?, auth.plan.as_ref()?.allow.as_ref()))
    }

    fn route(&self, sni: Option<&str>) -> Option<usize> {
        self.routes.iter().position(|route| match (&route.sni, sni) {
            (None, _) => true,
            (Some(pattern), Some(name)) => pattern.matches(name),
            (Some(_), None) => false,
        })
    }

    /// The outer option is whether there is an agreement, the inner one whether it is on a protocol.
    fn protocol(&self, offered: Option<&[&[u8]]>) -> Option<Option<&[u8]>> {
        match offered {
            None => self.alpn.none.then_some(None),
            Some(offered) => {
                let shared = self.alpn.protocols.iter().find(|protocol| offered.contains(&protocol.as_slice()))?;
                Some(Some(shared))
            }
        }
    }

    /// An exact name before a wildcard, and the first identity for everybody else.
    fn identity(&self, sni: Option<&str>) -> usize {
        let Some(sni) = sni else { return 0 };
        let exact = |shown: &Shown| shown.names.iter().any(|name| name.as_str().eq_ignore_ascii_case(sni));
        let fits = |shown: &Shown| shown.names.iter().any(|name| name.matches(sni));
        self.identities.iter().position(exact).or_else(|| self.identities.iter().position(fits)).unwrap_or(0)
    }
}

impl Shown {
    fn new(id: IdentityId, generation: Arc<Generation<Identity>>) -> Self {
        let names = generation.value.facts.names.dns.iter().filter_map(|name| DnsPattern::parse(name)).collect();
        Self { id, generation, names }
    }
}

impl Auth {
    fn new(plan: &Plan, wanted: Option<&ClientAuth>, generations: &Generations) -> Option<Self> {
        let authority = match wanted {
            Some(auth) => Some(generations.authority(plan, auth.trust)?),
            None => None,
        };
        Some(Self { plan: wanted.cloned(), authority })
    }

    fn standing(&self) -> Option<(crate::plan::TrustId, &Authority)> {
        Some((self.plan.as_ref()?.trust, self.authority.as_ref()?))
    }

    fn verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        let (plan, authority) = (self.plan.as_ref()?, self.authority.clone()?);
        Some(Arc::new(ClientVerifier::new(authority, plan.mode, plan.allow.clone())))
    }
}

impl Config {
    fn new(
        identity: &Shown,
        auth: &Auth,
        alpn: Vec<Vec<u8>>,
        (policy, unit): (&TlsPolicy, Unit),
    ) -> Result<Self, DeriveError> {
        let certified = identity.generation.value.certified.clone();
        let tls = server::config(certified, auth.verifier(), alpn, policy)?;
        let quic = match unit {
            Unit::Session => Some(server::quic(tls.clone())?),
            Unit::Stream => None,
        };
        Ok(Self { quic, tls })
    }
}

impl fmt::Debug for ListenerConfigs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenerConfigs").field("configs", &self.configs.len()).finish_non_exhaustive()
    }
}
