//! The registry of live connections.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use tokio::sync::Notify;

use super::Order;
use crate::{
    observe::Traffic,
    plan::{ListenerId, UpstreamId},
    tls::Standing,
};

/// Every connection between its acceptance and the end of its pair.
#[derive(Debug, Default)]
pub struct Registry {
    next: AtomicU64,
    live: Mutex<Live>,
    left: Notify,
}

#[derive(Debug, Default)]
struct Live {
    connections: HashMap<u64, Arc<Connection>>,
    /// Given to all that enter from now on.
    standing_order: Option<Order>,
}

/// What is known of one connection.
#[derive(Debug)]
pub struct Connection {
    /// Where it was accepted.
    pub listener: ListenerId,
    /// Where it leads.
    pub upstream: UpstreamId,
    /// Who opened it.
    pub peer: SocketAddr,
    /// The server name that it asked for.
    pub server_name: Option<String>,
    /// Since when it is here.
    pub since: Instant,
    /// The generations that the accepted side stands on.
    pub accepted: Standing,
    /// Its other side, once that is connected.
    pub far: OnceLock<FarSide>,
    order: OnceLock<Order>,
    ordered: Notify,
}

/// The dialled side of a connection.
#[derive(Debug)]
pub struct FarSide {
    /// The generations that it stands on.
    pub standing: Standing,
    /// The application protocol that was agreed.
    pub alpn: Option<Vec<u8>>,
    /// What passes.
    pub traffic: Arc<Traffic>,
}

impl Connection {
    /// A connection that nothing has been decided about.
    pub fn new(listener: ListenerId, upstream: UpstreamId, peer: SocketAddr, accepted: Standing) -> Self {
        Self {
            listener,
            upstream,
            peer,
            server_name: None,
            since: Instant::now(),
            accepted,
            far: OnceLock::new(),
            order: OnceLock::new(),
            ordered: Notify::new(),
        }
    }

    /// Decides its end. The first decision stands.
    pub fn order(&self, order: Order) {
        if self.order.set(order).is_ok() {
            self.ordered.notify_waiters();
        }
    }
}

/// A connection's place in the registry, until it is dropped.
#[derive(Debug)]
pub struct Ticket {
    registry: Arc<Registry>,
    id: u64,
    connection: Arc<Connection>,
}

impl Registry {
    /// Enters a connection.
    pub fn enter(self: &Arc<Self>, connection: Connection) -> Ticket {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(connection);
        let mut live = self.lock();
        if let Some(order) = &live.standing_order {
            connection.order(order.clone());
        }
        live.connections.insert(id, connection.clone());
        drop(live);
        Ticket { registry: self.clone(), id, connection }
    }

    /// How many are live.
    pub fn len(&self) -> usize {
        self.lock().connections.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those that are live now. The lock is not held while they are looked at.
    pub fn snapshot(&self) -> Vec<Arc<Connection>> {
        self.lock().connections.values().cloned().collect()
    }

    /// Decides the end of all that are live now and of all that enter later, and says how many are live now.
    pub fn close_all(&self, order: &Order) -> usize {
        let mut live = self.lock();
        live.standing_order = Some(order.clone());
        live.connections.values().for_each(|connection| connection.order(order.clone()));
        live.connections.len()
    }

    /// Completes when none is live.
    pub async fn emptied(&self) {
        loop {
            // Made before the look, so that a departure between look and wait is not missed.
            let left = self.left.notified();
            if self.is_empty() {
                return;
            }
            left.await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Live> {
        // No critical section can panic half-way.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// The connection that holds this place.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Completes when its end has been decided.
    pub async fn ordered(&self) -> &Order {
        loop {
            // Made before the look, so that a decision between look and wait is not missed.
            let ordered = self.connection.ordered.notified();
            if let Some(order) = self.connection.order.get() {
                return order;
            }
            ordered.await;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut live = self.registry.lock();
        live.connections.remove(&self.id);
        if live.connections.is_empty() {
            self.registry.left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        Connection::new(ListenerId(0), UpstreamId(0), "127.0.0.1:1".parse().unwrap(), Standing::default())
    }

    #[tokio::test]
    async fn an_order_reaches_those_who_wait_and_those_who_come_later() {
        let registry = Arc::new(Registry::default());
        let ticket = registry.enter(connection());
        let waiting = async { ticket.ordered().await.reason };
        let ordering = async { registry.close_all(&Order::drain()) };
        let (reason, ordered) = tokio::join!(waiting, ordering);
        assert_eq!((reason, ordered), (crate::observe::labels::CloseReason::Drain, 1));
        assert_eq!(ticket.ordered().await.close, Order::drain().close);
        let late = registry.enter(connection());
        assert_eq!(late.ordered().await.close, Order::drain().close);
        drop((ticket, late));
        registry.emptied().await;
    }
}
