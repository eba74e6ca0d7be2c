//! Connections that Iris owns: one to an upstream, shared by all streams of a worker that go there.

mod keeper;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::time::timeout;

use self::keeper::keep;
use crate::{
    bridge::{
        serve::Bridge,
        work::{Item, Work},
    },
    dial::{DialError, DialRequest},
    live::{Connection, FarSide, Footing, Ticket},
    observe::labels::HandshakeFailure,
    plan::{ListenerId, UpstreamId},
    transport::{ByteStream, Session, config::StreamLimits},
};

/// The connections that one worker owns.
#[derive(Default)]
pub struct Pools(Mutex<HashMap<UpstreamId, Arc<Pool>>>);

/// The connection to one upstream.
pub(super) struct Pool {
    upstream: UpstreamId,
    /// Who asked first: it stands for all in the registry.
    route: (ListenerId, usize),
    current: Mutex<Option<Arc<Pooled>>>,
    /// One dial at a time: whoever comes meanwhile shares what it brings.
    dialling: tokio::sync::Mutex<()>,
}

/// One connection, with its place in the registry.
pub(super) struct Pooled {
    pub(super) session: Session,
    pub(super) ticket: Ticket,
    alpn: Option<Vec<u8>>,
    streams: Work,
}

/// A stream of a pooled connection.
pub(super) struct Leased {
    pub(super) stream: ByteStream,
    pub(super) alpn: Option<Vec<u8>>,
    /// The connection that it is one of, as long as it lasts.
    pub(super) pooled: Arc<Pooled>,
    pub(super) item: Item,
}

impl Pools {
    /// A stream to an upstream, over the connection that there is or a new one. `route` leads there.
    ///
    /// # Errors
    ///
    /// The upstream cannot be reached, is not who it must be, or permits no more streams for `timeouts.connect`.
    pub(super) async fn lease(
        &self,
        bridge: &Arc<Bridge>,
        upstream: UpstreamId,
        route: (ListenerId, usize),
    ) -> Result<Leased, DialError> {
        let pool = lock(&self.0).entry(upstream).or_insert_with(|| Arc::new(Pool::new(upstream, route))).clone();
        let time = bridge.plan.timeouts.connect;
        let failed = |reason, detail: String| DialError {
            upstream: bridge.plan.upstream(upstream).name.clone(),
            reason,
            detail,
        };
        let leased = async {
            loop {
                let pooled = pool.connection(bridge).await?;
                let item = pooled.streams.begin();
                // The far side may have gone meanwhile; then there will be another.
                if let Ok((send, recv)) = pooled.session.open_bi().await {
                    let (stream, alpn) = (ByteStream::Quic(send, recv), pooled.alpn.clone());
                    return Ok(Leased { stream, alpn, pooled, item });
                }
                pool.forget(&pooled);
            }
        };
        let late = |_| Err(failed(HandshakeFailure::Limit, format!("no stream was permitted in {time:?}")));
        timeout(time, leased).await.unwrap_or_else(late)
    }
}

impl Pool {
    fn new(upstream: UpstreamId, route: (ListenerId, usize)) -> Self {
        Self { upstream, route, current: Mutex::default(), dialling: tokio::sync::Mutex::default() }
    }

    /// The connection, made if there is none.
    async fn connection(self: &Arc<Self>, bridge: &Arc<Bridge>) -> Result<Arc<Pooled>, DialError> {
        if let Some(current) = lock(&self.current).clone() {
            return Ok(current);
        }
        let _one = self.dialling.lock().await;
        if let Some(current) = lock(&self.current).clone() {
            return Ok(current);
        }
        self.dial(bridge).await
    }

    /// Puts a new connection in the place of the one there is, which goes on until its own streams are done.
    async fn replace(self: &Arc<Self>, bridge: &Arc<Bridge>) -> Result<(), DialError> {
        let _one = self.dialling.lock().await;
        self.dial(bridge).await.map(drop)
    }

    async fn dial(self: &Arc<Self>, bridge: &Arc<Bridge>) -> Result<Arc<Pooled>, DialError> {
        let plan = &*bridge.plan;
        let component = bridge.observer.upstream(self.upstream.0);
        let request = DialRequest {
            server_name: None,
            alpn: &[],
            destination: None,
            peer: None,
            // It is to open none; what it opens all the same is refused, and needs credit that other streams do not have.
            streams: StreamLimits { bidi: plan.limits.streams, uni: StreamLimits::INITIAL.uni },
            datagram_size: iris_loopback::DatagramSize::Unchanged,
        };
        let began = Instant::now();
        let mut dialled = bridge.dialer.dial(self.upstream, &request).await?;
        component.connected_in(began.elapsed());
        let entry = Connection::new(self.route, self.upstream, dialled.address, Footing::default());
        entry.can_finish();
        let ticket = bridge.contraction.enter(entry);
        let footing = Footing::new(dialled.standing, dialled.judged.take());
        bridge.contraction.connected(&ticket, FarSide { footing, alpn: dialled.alpn.clone() });
        if let Some(order) = ticket.connection().decided() {
            dialled.session.close(&order.close);
            let (reason, detail) = (order.failure(), String::from_utf8_lossy(&order.close.reason).into_owned());
            return Err(DialError { upstream: component.name().to_owned(), reason, detail });
        }
        let pooled =
            Arc::new(Pooled { session: dialled.session, ticket, alpn: dialled.alpn, streams: Work::default() });
        *lock(&self.current) = Some(pooled.clone());
        bridge.tasks.spawn(keep(bridge.clone(), self.clone(), pooled.clone()));
        Ok(pooled)
    }

    /// It is not to be used any more.
    fn forget(&self, pooled: &Arc<Pooled>) {
        let mut current = lock(&self.current);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, pooled)) {
            *current = None;
        }
    }
}

/// Between attempts to make a lost connection again, the first and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No critical section can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
