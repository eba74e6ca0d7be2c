//! Upstreams and their TLS.

use crate::config::{
    field::{Field, Located},
    scalar::{
        address::{self, Dial, ServerName},
        pattern::{self, DestinationRule},
        word,
    },
    section::policy::{self, Policy},
    walk::Fields,
};

/// One of `upstreams`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name.
    pub name: Field<String>,
    /// Where it dials, and what it speaks.
    pub dial: Field<Dial>,
    /// What a component may ask for, where it may ask.
    pub allow: Field<Allow>,
    /// Its TLS, if it is secured.
    pub tls: Field<Tls>,
    /// What a component is told of the peer in front of the stream.
    pub proxy_protocol: Field<ProxyProtocol>,
}

/// What a component is told of the peer in front of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// Nothing.
    None,
    /// A header of the PROXY protocol, version 2.
    V2,
}

/// `allow` of an upstream
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    /// Destinations that a component may ask for.
    pub destinations: Field<Vec<Located<DestinationRule>>>,
}

/// `tls` of an upstream
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// A trust bundle, by name.
    pub trust: Field<String>,
    /// How the peer's certificate is judged.
    pub verification: Field<Verification>,
    /// The name that is asked for and must stand in the certificate.
    pub server_name: Field<ServerName>,
    /// An identity, by name, that is shown when the peer asks for one.
    pub identity: Field<String>,
    /// Application protocols that are offered.
    pub alpn: Field<Vec<Located<Vec<u8>>>>,
    /// Versions, suites and groups.
    pub policy: Policy,
}

/// How a peer's certificate is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// By its chain and by the server name.
    Full,
    /// Not at all.
    Disabled,
}

pub(in crate::config) fn upstream(fields: &Fields<'_>) -> Upstream {
    Upstream {
        name: fields.text("name", word::name),
        dial: fields.text("dial", address::dial),
        allow: fields
            .section("allow", |fields| Allow { destinations: fields.list("destinations", pattern::destination) }),
        tls: fields.section("tls", |fields| Tls {
            trust: fields.text("trust", word::name),
            verification: fields.choice("verification", &[Verification::Full, Verification::Disabled]),
            server_name: fields.text("server_name", address::server_name),
            identity: fields.text("identity", word::name),
            alpn: fields.list("alpn", word::protocol),
            policy: policy::read(fields),
        }),
        proxy_protocol: fields.choice("proxy_protocol", &[ProxyProtocol::None, ProxyProtocol::V2]),
    }
}
