//! What runs: no choices left, nothing optional that the runtime needs.
//!
//! [`compile()`] turns a [`Document`](crate::config::Document) into a [`Plan`], or into every problem at
//! once. References by name have become indices here, so nothing later can miss one.

mod compile;
pub mod listener;
pub mod material;
mod notice;
pub mod policy;
pub mod settings;
pub mod upstream;

pub use compile::{compile, from_yaml};
pub use listener::{AlpnPolicy, ClientAuth, ListenerEnd, ListenerPlan, ListenerTls, RoutePlan};
pub use material::{
    Expectation, ExpiredLists, IdentityPlan, IdentitySource, RevocationDepth, RevocationPolicy, StillTrusted,
    TrustPlan, UnknownStatus,
};
pub use notice::Notice;
pub use policy::TlsPolicy;
pub use settings::{AdminPlan, Development, Limits, LogPlan, ReloadSettings, Timeouts, TransportSettings};
pub use upstream::{Destination, UpstreamEnd, UpstreamPlan, UpstreamTls, Verification};

pub use crate::config::{
    scalar::{
        address::{Place, ServerName as ServerNameRule},
        host::{HostPort, is_dns_name},
        pattern::{self, DestinationRule, DestinationRules, DnsPattern, NamePatterns, UriPattern},
        policy::{Group, Suite, TlsVersion},
        scheme::Unit,
    },
    section::{listener::ClientAuthMode, settings::LogFormat},
};

/// A whole configuration, ready to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The operator's HTTP.
    pub admin: AdminPlan,
    /// Log format and level.
    pub log: LogPlan,
    /// What the file allows that no production system should.
    pub development: Development,
    /// Worker threads, each with a runtime of its own.
    pub workers: usize,
    /// Bounds on everything that peers can make grow.
    pub limits: Limits,
    /// How long anything may take.
    pub timeouts: Timeouts,
    /// Settings of the QUIC transport.
    pub transport: TransportSettings,
    /// How changed files are found.
    pub reload: ReloadSettings,
    /// Identities, indexed by [`IdentityId`].
    pub identities: Vec<IdentityPlan>,
    /// Trust bundles, indexed by [`TrustId`].
    pub trust: Vec<TrustPlan>,
    /// Listeners, indexed by [`ListenerId`].
    pub listeners: Vec<ListenerPlan>,
    /// Upstreams, indexed by [`UpstreamId`].
    pub upstreams: Vec<UpstreamPlan>,
}

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);
    };
}

index!(
    /// Position of an identity in [`Plan::identities`].
    IdentityId
);
index!(
    /// Position of a trust bundle in [`Plan::trust`].
    TrustId
);
index!(
    /// Position of a listener in [`Plan::listeners`].
    ListenerId
);
index!(
    /// Position of an upstream in [`Plan::upstreams`].
    UpstreamId
);

impl Plan {
    /// The identity with this index.
    pub fn identity(&self, id: IdentityId) -> &IdentityPlan {
        &self.identities[id.0]
    }

    /// The trust bundle with this index.
    pub fn trust(&self, id: TrustId) -> &TrustPlan {
        &self.trust[id.0]
    }

    /// The listener with this index.
    pub fn listener(&self, id: ListenerId) -> &ListenerPlan {
        &self.listeners[id.0]
    }

    /// The upstream with this index.
    pub fn upstream(&self, id: UpstreamId) -> &UpstreamPlan {
        &self.upstreams[id.0]
    }
}
