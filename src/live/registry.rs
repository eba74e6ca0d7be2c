//! The registry of live connections.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;

use super::{Connection, FarSide, Order};

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
    /// All that enter from now on are to take no more work than they bring.
    standing_winding: Option<Order>,
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
        if let Some(order) = &live.standing_winding {
            connection.wind_down(order.clone());
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

    /// Asks all that are live now, and all that enter later, to end when what they have to do is done.
    pub fn wind_down_all(&self, order: &Order) {
        let mut live = self.lock();
        live.standing_winding = Some(order.clone());
        live.connections.values().for_each(|connection| connection.wind_down(order.clone()));
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
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// The dialled side is connected. Under the registry's lock, so that a [`snapshot`](Registry::snapshot) taken after a
    /// publication either shows it, or was taken before: then whoever asks after this call sees what was published.
    pub fn connected(&self, far: FarSide) {
        let _live = self.registry.lock();
        self.connection.set_far(far);
    }

    /// Completes when its end has been decided.
    pub async fn ordered(&self) -> &Order {
        self.connection.ordered().await
    }

    /// Completes when it was asked to take no more work.
    pub async fn winding(&self) -> &Order {
        self.connection.winding().await
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.connection.clear_due();
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
    use crate::{
        live::Footing,
        plan::{ListenerId, UpstreamId},
    };

    fn connection() -> Connection {
        Connection::new(
            (ListenerId(0), 0),
            UpstreamId(0),
            std::net::SocketAddr::from(([127, 0, 0, 1], 1)),
            Footing::default(),
        )
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
