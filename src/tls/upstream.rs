//! The TLS configuration of one upstream, and what one dial makes of it.

use std::{fmt, sync::Arc};

use rustls::ClientConfig;

use super::{
    client,
    configs::DeriveError,
    session::{DialOutcome, Dialling},
    standing::Standing,
    verify::{ServerVerifier, Unverified},
};
use crate::{
    material::{Authority, Generation, Generations, Identity},
    plan::{IdentityId, Plan, ServerNameRule, UpstreamTls, Verification},
};

/// The TLS configuration of one upstream.
pub struct UpstreamConfigs {
    server_name: ServerNameRule,
    /// What is offered whatever the other side says. Empty: what it says.
    alpn: Vec<Vec<u8>>,
    base: ClientConfig,
    authority: Option<Authority>,
    identity: Option<(IdentityId, Arc<Generation<Identity>>)>,
    standing: Standing,
}

impl UpstreamConfigs {
    /// The configuration of an upstream, or `None` while one of its materials is missing.
    pub(super) fn derive(
        plan: &Plan,
        tls: &UpstreamTls,
        generations: &Generations,
    ) -> Result<Option<Self>, DeriveError> {
        let identity = match tls.identity {
            Some(id) => match generations.identity(id) {
                Some(generation) => Some((id, generation.clone())),
                None => return Ok(None),
            },
            None => None,
        };
        let authority = match tls.verification {
            Verification::Trust(id) => match generations.authority(plan, id) {
                Some(authority) => Some((id, authority)),
                None => return Ok(None),
            },
            Verification::Disabled => None,
        };
        let standing = Standing::new(
            identity.as_ref().map(|(id, generation)| (*id, &**generation)),
            authority.as_ref().map(|(id, authority)| (*id, authority)),
        );
        let authority = authority.map(|(_, authority)| authority);
        let certified = identity.as_ref().map(|(_, generation)| generation.value.certified.clone());
        let base = match &authority {
            Some(authority) => {
                client::config(Arc::new(ServerVerifier::new(authority.clone())), certified, &tls.policy)?
            }
            None => client::config(Arc::new(Unverified), certified, &tls.policy)?,
        };
        let (server_name, alpn) = (tls.server_name.clone(), tls.alpn.clone());
        Ok(Some(Self { server_name, alpn, base, authority, identity, standing }))
    }

    /// The crypto of one dial that offers the application protocols `alpn` in this order (none: no extension), and
    /// what will be known of it. Each protocol has 1 to 255 bytes (RFC 7301 section 3.1); with any other the dial
    /// fails as one without a protocol in common.
    pub fn dial(&self, alpn: &[Vec<u8>]) -> (Arc<dyn quinn::crypto::ClientConfig>, Arc<DialOutcome>) {
        let outcome = Arc::new(DialOutcome::new(self.standing));
        (Arc::new(Dialling::new(self.tls(alpn), outcome.clone())), outcome)
    }

    /// The TLS of one dial over TCP, with the same offer.
    pub fn tls(&self, alpn: &[Vec<u8>]) -> Arc<ClientConfig> {
        let mut config = self.base.clone();
        config.alpn_protocols = self.offer(alpn).to_vec();
        Arc::new(config)
    }

    /// What is offered where the other side agreed on, or offers, `alpn`.
    pub fn offer<'a>(&'a self, alpn: &'a [Vec<u8>]) -> &'a [Vec<u8>] {
        if self.alpn.is_empty() { alpn } else { &self.alpn }
    }

    /// Which server name is asked for.
    pub fn server_name_rule(&self) -> &ServerNameRule {
        &self.server_name
    }

    /// The name to ask for, given what the other side asked Iris for. `None` when the rule is to pass that on and
    /// there was none.
    pub fn server_name<'a>(&'a self, requested: Option<&'a str>) -> Option<&'a str> {
        match &self.server_name {
            ServerNameRule::Requested => requested,
            ServerNameRule::Fixed(name) => Some(name),
        }
    }

    /// Whom it believes. `None` where nothing is verified.
    pub fn authority(&self) -> Option<&Authority> {
        self.authority.as_ref()
    }

    /// The identity that its dials show when they are asked.
    pub fn identity(&self) -> Option<(IdentityId, &Generation<Identity>)> {
        self.identity.as_ref().map(|(id, generation)| (*id, &**generation))
    }

    /// The generations that its dials stand on.
    pub fn standing(&self) -> Standing {
        self.standing
    }
}

impl fmt::Debug for UpstreamConfigs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamConfigs")
            .field("server_name", &self.server_name)
            .field("standing", &self.standing)
            .finish_non_exhaustive()
    }
}
