//! Who looks after one pooled connection, from its handshake to its end and to its successor.

use std::{future::Future, pin::Pin, sync::Arc};

use quinn::ConnectionError;
use tokio::time::sleep;

use super::{PAUSES, Pool, Pooled};
use crate::{
    bridge::serve::Bridge,
    live::Order,
    observe::labels::CloseReason,
    transport::{Code, Session},
};

/// What becomes of a connection.
enum Turn {
    Lost(ConnectionError),
    Ordered(Order),
    /// It is to take no more streams.
    Winding(Order),
}

/// Looks after a connection. One that is lost is made again; one that is to go for trust's sake is replaced first, where
/// trust allows, and goes when its streams are done or its time is up.
///
/// Boxed, since whoever makes a connection spawns its keeper, and the keeper makes connections.
pub(super) fn keep(
    bridge: Arc<Bridge>,
    pool: Arc<Pool>,
    pooled: Arc<Pooled>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(look_after(bridge, pool, pooled))
}

async fn look_after(bridge: Arc<Bridge>, pool: Arc<Pool>, pooled: Arc<Pooled>) {
    let name = bridge.observer.upstream(pool.upstream.0).name().to_owned();
    let turn = tokio::select! { biased;
        order = pooled.ticket.ordered() => Turn::Ordered(order.clone()),
        order = pooled.ticket.winding() => Turn::Winding(order.clone()),
        error = refuse_streams(&pooled.session) => Turn::Lost(error),
    };
    match turn {
        Turn::Lost(error) => {
            tracing::warn!(component = name, %error, "a shared connection is lost; it is made again");
            pool.forget(&pooled);
        }
        Turn::Ordered(order) => {
            pool.forget(&pooled);
            pooled.session.close(&order.close);
        }
        Turn::Winding(order) if order.reason == CloseReason::Drain => {
            pool.forget(&pooled);
            return finish(&pooled, &order).await;
        }
        Turn::Winding(order) => {
            tokio::select! { biased;
                _ = pooled.ticket.ordered() => {}
                replaced = pool.replace(&bridge) => {
                    if let Err(error) = replaced {
                        tracing::warn!(component = name, %error, "a shared connection that is to go has no successor yet");
                    }
                }
            }
            // Without a successor it goes all the same: what it stands on may be what must go.
            pool.forget(&pooled);
            finish(&pooled, &order).await;
        }
    }
    drop(pooled);
    remake(&bridge, &pool, &name).await;
}

/// Lets the streams that there are come to their end.
async fn finish(pooled: &Pooled, order: &Order) {
    let order = tokio::select! { biased;
        order = pooled.ticket.ordered() => order,
        () = pooled.streams.idle() => order,
        _ = pooled.session.closed() => order,
    };
    pooled.session.close(&order.close);
}

/// Makes a connection again, unless there is one, however long that takes.
async fn remake(bridge: &Arc<Bridge>, pool: &Arc<Pool>, name: &str) {
    let mut drain = bridge.drain.clone();
    let mut pause = PAUSES.0;
    loop {
        tokio::select! { biased;
            _ = drain.begun() => return,
            made = pool.connection(bridge) => match made {
                Ok(_) => return,
                Err(error) if pause == PAUSES.0 => tracing::warn!(component = name, %error, "a shared connection cannot be made again; trying on"),
                Err(_) => {}
            },
        }
        tokio::select! { biased;
            _ = drain.begun() => return,
            () = sleep(pause) => pause = (pause * 2).min(PAUSES.1),
        }
    }
}

/// Refuses what the far side opens, until the connection is lost: nobody asked it to.
async fn refuse_streams(session: &Session) -> ConnectionError {
    let code = || Code::NoRoute.number().into();
    let bidi = async {
        while let Ok((mut send, mut recv)) = session.accept_bi().await {
            send.reset(code());
            recv.stop(code());
        }
    };
    let uni = async {
        while let Ok(mut recv) = session.accept_uni().await {
            recv.stop(code());
        }
    };
    tokio::join!(bidi, uni);
    session.closed().await
}
