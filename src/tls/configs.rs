//! The TLS configurations of all roles, derived whole from generations and plan, never patched: one immutable object
//! that is published in one pointer swap.

use std::sync::Arc;

use super::{listener::ListenerConfigs, upstream::UpstreamConfigs};
use crate::{
    material::Generations,
    plan::{ListenerId, Plan, UpstreamId},
};

/// The TLS configurations of all roles of a plan.
#[derive(Debug)]
pub struct Configs {
    listeners: Vec<Option<Arc<ListenerConfigs>>>,
    upstreams: Vec<Option<Arc<UpstreamConfigs>>>,
}

/// Why configurations could not be derived from materials that were found good.
#[derive(Debug, thiserror::Error)]
pub enum DeriveError {
    /// rustls refused a setting.
    #[error("the TLS configuration cannot be built")]
    Tls(#[source] rustls::Error),
    /// The provider lacks TLS_AES_128_GCM_SHA256, which QUIC needs for Initial packets (RFC 9001 section 5.2).
    #[error("the crypto provider lacks the cipher suite of QUIC's Initial packets")]
    NoInitialSuite,
}

impl Configs {
    /// Derives all of them. Blocks for a while: not for network threads.
    ///
    /// # Errors
    /// Only when rustls refuses what the checks of the materials let through. Then nothing is derived.
    pub fn derive(plan: &Plan, generations: &Generations) -> Result<Self, DeriveError> {
        let listener = |listener: &crate::plan::ListenerPlan| match listener.end.tls() {
            Some(tls) => ListenerConfigs::derive(plan, listener, tls, generations),
            None => Ok(None),
        };
        let upstream = |upstream: &crate::plan::UpstreamPlan| match upstream.end.tls() {
            Some(tls) => UpstreamConfigs::derive(plan, tls, generations),
            None => Ok(None),
        };
        Ok(Self {
            listeners: plan
                .listeners
                .iter()
                .map(|plan| Ok(listener(plan)?.map(Arc::new)))
                .collect::<Result<_, DeriveError>>()?,
            upstreams: plan
                .upstreams
                .iter()
                .map(|plan| Ok(upstream(plan)?.map(Arc::new)))
                .collect::<Result<_, DeriveError>>()?,
        })
    }

    /// The configurations of a listener. `None` while a material that it needs is missing, and for plaintext ones.
    pub fn listener(&self, id: ListenerId) -> Option<&Arc<ListenerConfigs>> {
        self.listeners.get(id.0)?.as_ref()
    }

    /// The configurations of an upstream. `None` while a material that it needs is missing, and for plaintext ones.
    pub fn upstream(&self, id: UpstreamId) -> Option<&Arc<UpstreamConfigs>> {
        self.upstreams.get(id.0)?.as_ref()
    }
}
