//! Opening ends: from a route's upstream to a connected session.

pub mod error;
pub mod loopback;
pub mod quic;
pub mod request;
pub mod resolve;

use std::{io, sync::Arc};

pub use error::DialError;
pub use request::{DialRequest, Dialled};

use crate::{
    material::publish::Reader,
    observe::labels::HandshakeFailure,
    plan::{Plan, UpstreamEnd, UpstreamId},
    tls::Configs,
};

/// Dials for one worker: its sockets and the connections over them belong to that worker.
pub struct Dialer {
    plan: Arc<Plan>,
    configs: Reader<Configs>,
    quic: quic::QuicDialer,
    loopback: loopback::LoopbackDialer,
}

impl Dialer {
    /// Opens the sockets on the runtime of the caller, which will drive them.
    ///
    /// # Errors
    ///
    /// A socket cannot be opened.
    pub fn open(plan: Arc<Plan>, configs: Reader<Configs>) -> io::Result<Self> {
        let quic = quic::QuicDialer::open(&plan)?;
        let loopback = loopback::LoopbackDialer::open(&plan)?;
        Ok(Self { plan, configs, quic, loopback })
    }

    /// Connects to `upstream` within `timeouts.connect`, all addresses together.
    ///
    /// # Errors
    ///
    /// The destination is not allowed or not there, or the peer is not who it must be.
    pub async fn dial(&self, upstream: UpstreamId, request: &DialRequest<'_>) -> Result<Dialled, DialError> {
        let plan = self.plan.upstream(upstream);
        let failed = |reason, detail: String| DialError { upstream: plan.name.clone(), reason, detail };
        let connected = async {
            match &plan.end {
                UpstreamEnd::LoopbackQuic(address) => self.loopback.dial(&self.plan, *address, request).await,
                UpstreamEnd::Quic { destination, .. } => {
                    let configs = self.configs.load();
                    let Some(configs) = configs.upstream(upstream) else {
                        return Err((HandshakeFailure::NotReady, "no usable trust or identity was loaded".into()));
                    };
                    self.quic.dial(&self.plan, destination, configs, request).await
                }
            }
        };
        match tokio::time::timeout(self.plan.timeouts.connect, connected).await {
            Ok(result) => result.map_err(|(reason, detail)| failed(reason, detail)),
            Err(_) => {
                let time = self.plan.timeouts.connect;
                Err(failed(HandshakeFailure::Timeout, format!("not connected after {time:?}")))
            }
        }
    }

    /// Completes when the last connection over these sockets is over.
    pub async fn idle(&self) {
        tokio::join!(self.quic.idle(), self.loopback.idle());
    }
}

/// Why one attempt failed: the label, and the words.
type Failure = (HandshakeFailure, String);
