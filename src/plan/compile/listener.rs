//! Listeners and their TLS.

use std::collections::HashSet;

use super::{Compiler, whole};
use crate::{
    config::{
        Field, Located,
        problem::{Fault, shown},
        scalar::scheme::Scheme,
        section::listener::{self, AllowNames, Listener, Tls},
    },
    plan::{
        AlpnPolicy, ClientAuth, ClientAuthMode, IdentityId, ListenerEnd, ListenerPlan, ListenerTls, NamePatterns,
        Place, TrustId, Unit,
    },
};

/// The owner alone: whoever else is to connect is named by the file.
const UNIX_MODE: u32 = 0o600;

impl Compiler<'_> {
    pub(super) fn all_listeners(&self) -> Option<Vec<ListenerPlan>> {
        whole(self.document.listeners.value()?.iter().map(|listener| {
            let Listener { name, listen, tls, unix, idle_timeout, .. } = &listener.value;
            let scheme = listen.value().map(|listen| listen.scheme);
            let tls_plan = match tls {
                Field::Given(tls) if scheme.is_none_or(Scheme::is_secured) => self.listener_tls(tls, scheme),
                Field::Given(_) | Field::Absent | Field::Invalid => None,
            };
            let routes = self.routes(listener);
            let listen = listen.given()?;
            let scheme = listen.value.scheme;
            self.check_tls(&listener.spot, scheme, tls);
            if let (false, Place::Socket(address)) = (scheme.is_secured(), &listen.value.place) {
                self.check_plaintext(&listen.spot, *address);
            }
            if let (Some(unix), true) = (unix.given(), scheme != Scheme::Unix) {
                self.report(
                    &unix.spot,
                    Fault::new(format!("`{scheme}` is no Unix socket"), "no `unix`, or `unix:/path`"),
                );
            }
            if let (Some(idle), Unit::Session) = (idle_timeout.given(), scheme.unit()) {
                let message = format!("`{scheme}` has an idle timeout of its own");
                self.report(&idle.spot, Fault::new(message, "`timeouts.idle`, which is for all of QUIC"));
            }
            let end = match scheme {
                Scheme::Quic => ListenerEnd::Quic(tls_plan?),
                Scheme::QuicPlaintext => ListenerEnd::LoopbackQuic,
                Scheme::Tls => ListenerEnd::Tls(tls_plan?),
                Scheme::Tcp => ListenerEnd::Tcp,
                Scheme::Unix => {
                    ListenerEnd::Unix { mode: unix.value().map_or(UNIX_MODE, |unix| unix.mode.or(UNIX_MODE)) }
                }
                // Not carried yet: refused where addresses are read.
                Scheme::WebTransport | Scheme::WebTransportPlaintext => return None,
            };
            Some(ListenerPlan {
                name: name.value()?.clone(),
                place: listen.value.place.clone(),
                end,
                idle_timeout: idle_timeout.value().copied(),
                routes: routes?,
            })
        }))
    }

    fn listener_tls(&self, tls: &Located<Tls>, scheme: Option<Scheme>) -> Option<ListenerTls> {
        let Tls { identities, alpn, client_auth, policy } = &tls.value;
        let policy = self.policy(policy, scheme);
        let identities = identities.value().and_then(|names| {
            self.check_twice(names, |name| shown(name));
            whole(names.iter().map(|name| self.refer(&self.identities, name).map(IdentityId)))
        });
        let alpn = self.alpn(alpn);
        let client_auth = self.client_auth(client_auth);
        Some(ListenerTls { identities: identities?, alpn: alpn?, client_auth: client_auth?, policy: policy? })
    }

    /// An empty list means peers that offer nothing, as Raw QUIC does.
    fn alpn(&self, alpn: &Field<Vec<Located<Option<Vec<u8>>>>>) -> Option<AlpnPolicy> {
        let written = match alpn {
            Field::Invalid => return None,
            Field::Absent => &[][..],
            Field::Given(written) => &written.value,
        };
        self.check_twice(written, |protocol| {
            protocol.as_ref().map_or_else(|| "`none`".into(), |name| shown(&String::from_utf8_lossy(name)))
        });
        Some(AlpnPolicy {
            none: written.is_empty() || written.iter().any(|protocol| protocol.value.is_none()),
            protocols: written.iter().filter_map(|protocol| protocol.value.clone()).collect(),
        })
    }

    /// `Some(None)`: there is none.
    pub(super) fn client_auth(&self, field: &Field<listener::ClientAuth>) -> Option<Option<ClientAuth>> {
        let written = match field {
            Field::Absent => return Some(None),
            Field::Invalid => return None,
            Field::Given(written) => &written.value,
        };
        let trust = written.trust.given().and_then(|trust| self.refer(&self.trust, trust));
        let allow = match &written.allow {
            Field::Absent => Some(None),
            Field::Invalid => None,
            Field::Given(allow) => self.allow_names(allow).map(Some),
        };
        let mode = written.mode.or(ClientAuthMode::Required);
        Some(Some(ClientAuth { trust: TrustId(trust?), mode, allow: allow? }))
    }

    fn allow_names(&self, allow: &Located<AllowNames>) -> Option<NamePatterns> {
        let AllowNames { dns, uri } = &allow.value;
        if dns.is_absent() && uri.is_absent() {
            self.report(&allow.spot, Fault::new("`allow` names nobody", "`dns` or `uri` or both"));
        }
        if dns.is_invalid() || uri.is_invalid() {
            return None;
        }
        Some(NamePatterns {
            dns: dns.value().into_iter().flatten().map(|pattern| pattern.value.clone()).collect(),
            uri: uri.value().into_iter().flatten().map(|pattern| pattern.value.clone()).collect(),
        })
    }

    /// Reports what stands in a list for a second time.
    pub(super) fn check_twice<T: Eq + std::hash::Hash>(&self, list: &[Located<T>], name: impl Fn(&T) -> String) {
        let mut seen = HashSet::new();
        for item in list {
            if !seen.insert(&item.value) {
                let name = name(&item.value);
                self.report(&item.spot, Fault::new(format!("{name} stands here twice"), "each once"));
            }
        }
    }
}
