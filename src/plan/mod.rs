//! What runs: no choices left, nothing optional that the runtime needs.
//!
//! [`compile`](compile::compile) turns a [`Document`](crate::config::Document) into a [`Plan`], or into every problem at
//! once. References by name have become indices here, so nothing later can miss one.

pub mod listener;
pub mod material;
pub mod pattern;
pub mod settings;
pub mod upstream;

pub use listener::{AlpnPolicy, ClientAuth, ClientAuthMode, ListenerEnd, ListenerPlan, ListenerTls, RoutePlan};
pub use material::{Expectation, IdentityPlan, IdentitySource, StillTrusted, TrustPlan};
pub use pattern::{DestinationRule, DestinationRules, DnsPattern, NamePatterns, UriPattern, is_dns_name};
pub use settings::{AdminPlan, Development, Limits, LogFormat, LogPlan, Timeouts, TransportSettings};
pub use upstream::{Destination, HostPort, ServerNameRule, UpstreamEnd, UpstreamPlan, UpstreamTls, Verification};

/// A whole configuration, ready to run.
#[derive(Debug, Clone)]
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
