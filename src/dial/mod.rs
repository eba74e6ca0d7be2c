//! Opening ends: from a route's upstream to a connected session.

pub mod error;
pub mod loopback;
pub mod quic;
pub mod request;
pub mod resolve;
pub mod stream;

use std::{future::Future, io, sync::Arc};

pub use error::DialError;
pub use request::{DialRequest, Dialled};
pub use stream::{DialledStream, StreamRequest};

use crate::{
    material::publish::Reader,
    observe::labels::HandshakeFailure,
    plan::{Plan, UpstreamEnd, UpstreamId},
    tls::{Configs, UpstreamConfigs},
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
        let connected = async {
            match &self.plan.upstream(upstream).end {
                UpstreamEnd::LoopbackQuic(address) => self.loopback.dial(&self.plan, *address, request).await,
                UpstreamEnd::Quic { destination, .. } => {
                    let configs = self.configs(upstream)?;
                    self.quic.dial(&self.plan, destination, &configs, request).await
                }
                UpstreamEnd::Tls { .. } | UpstreamEnd::Tcp(_) | UpstreamEnd::Unix(_) => Err(not("a session")),
            }
        };
        self.in_time(upstream, connected).await
    }

    /// The same for one stream of bytes.
    ///
    /// # Errors
    ///
    /// The destination is not there, or the peer is not who it must be.
    pub async fn dial_stream(
        &self,
        upstream: UpstreamId,
        request: &StreamRequest<'_>,
    ) -> Result<DialledStream, DialError> {
        let connected = async {
            match &self.plan.upstream(upstream).end {
                UpstreamEnd::Tls { to, .. } => {
                    let configs = self.configs(upstream)?;
                    stream::tls(&self.plan, to, &configs, request).await
                }
                UpstreamEnd::Tcp(address) => stream::tcp(&self.plan, *address).await,
                UpstreamEnd::Unix(path) => stream::unix(path).await,
                UpstreamEnd::Quic { .. } | UpstreamEnd::LoopbackQuic(_) => Err(not("a stream")),
            }
        };
        self.in_time(upstream, connected).await
    }

    fn configs(&self, upstream: UpstreamId) -> Result<Arc<UpstreamConfigs>, Failure> {
        let configs = self.configs.load().upstream(upstream).cloned();
        configs.ok_or_else(|| (HandshakeFailure::NotReady, "no usable trust or identity was loaded".into()))
    }

    async fn in_time<T>(
        &self,
        upstream: UpstreamId,
        connected: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, DialError> {
        let time = self.plan.timeouts.connect;
        let late = |_| Err((HandshakeFailure::Timeout, format!("not connected after {time:?}")));
        let result = tokio::time::timeout(time, connected).await.unwrap_or_else(late);
        result.map_err(|(reason, detail)| DialError {
            upstream: self.plan.upstream(upstream).name.clone(),
            reason,
            detail,
        })
    }

    /// Completes when the last connection over these sockets is over.
    pub async fn idle(&self) {
        tokio::join!(self.quic.idle(), self.loopback.idle());
    }
}

/// Why one attempt failed: the label, and the words.
type Failure = (HandshakeFailure, String);

/// A plan leads no arrival where it cannot go.
fn not(what: &str) -> Failure {
    (HandshakeFailure::Protocol, format!("the upstream is not for {what}"))
}
