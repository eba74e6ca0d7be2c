//! Listeners, their TLS and their routes.

use std::time::Duration;

use crate::config::{
    field::{Field, Located},
    scalar::{
        address::{self, Listen},
        pattern::{self, DnsPattern, UriPattern},
        word,
    },
    section::policy::{self, Policy},
    walk::Fields,
};

/// One of `listeners`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its name.
    pub name: Field<String>,
    /// Where it accepts, and what it speaks.
    pub listen: Field<Listen>,
    /// Its TLS, if it is secured.
    pub tls: Field<Tls>,
    /// Its Unix socket, if it is one.
    pub unix: Field<Unix>,
    /// Silence after which a connection is closed.
    pub idle_timeout: Field<Duration>,
    /// Where its connections go.
    pub routes: Field<Vec<Located<Route>>>,
}

/// `tls` of a listener
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// By name; the first is the default.
    pub identities: Field<Vec<Located<String>>>,
    /// Application protocols; `None` is the word `none`.
    pub alpn: Field<Vec<Located<Option<Vec<u8>>>>>,
    /// Client authentication.
    pub client_auth: Field<ClientAuth>,
    /// Versions, suites and groups.
    pub policy: Policy,
}

/// `unix` of a listener
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unix {
    /// The mode of the socket.
    pub mode: Field<u32>,
}

/// `client_auth` of a listener or a route
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAuth {
    /// A trust bundle, by name.
    pub trust: Field<String>,
    /// Whether a peer may come without a certificate.
    pub mode: Field<ClientAuthMode>,
    /// Names of which a certificate must bear one.
    pub allow: Field<AllowNames>,
}

/// Whether a peer may come without a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuthMode {
    /// It may not.
    Required,
    /// It may; a certificate that it shows is judged all the same.
    Optional,
}

/// `allow` of a `client_auth`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowNames {
    /// Against the DNS names of the certificate.
    pub dns: Field<Vec<Located<DnsPattern>>>,
    /// Against its URIs.
    pub uri: Field<Vec<Located<UriPattern>>>,
}

/// One of a listener's `routes`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The server name that was asked for. Absent: any, and none.
    pub sni: Field<DnsPattern>,
    /// In place of the listener's.
    pub client_auth: Field<ClientAuth>,
    /// An upstream, by name.
    pub upstream: Field<String>,
}

pub(in crate::config) fn listener(fields: &Fields<'_>) -> Listener {
    Listener {
        name: fields.text("name", word::name),
        listen: fields.text("listen", address::listen),
        tls: fields.section("tls", |fields| Tls {
            identities: fields.list("identities", word::name),
            alpn: fields.list("alpn", word::alpn),
            client_auth: fields.section("client_auth", client_auth),
            policy: policy::read(fields),
        }),
        unix: fields.section("unix", |fields| Unix { mode: fields.text("mode", address::mode) }),
        idle_timeout: fields.duration("idle_timeout"),
        routes: fields.sections("routes", |fields| Route {
            sni: fields.text("sni", pattern::dns),
            client_auth: fields.section("client_auth", client_auth),
            upstream: fields.text("upstream", word::name),
        }),
    }
}

fn client_auth(fields: &Fields<'_>) -> ClientAuth {
    ClientAuth {
        trust: fields.text("trust", word::name),
        mode: fields.choice("mode", &[ClientAuthMode::Required, ClientAuthMode::Optional]),
        allow: fields.section("allow", |fields| AllowNames {
            dns: fields.list("dns", pattern::dns),
            uri: fields.list("uri", pattern::uri),
        }),
    }
}
