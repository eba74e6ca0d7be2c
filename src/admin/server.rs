//! Accepting, and the bounds on what a client can hold.

use std::{collections::VecDeque, convert::Infallible, io, net, pin::pin, sync::Arc, time::Duration};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{AbortHandle, JoinSet},
    time,
};

use super::{CONNECTIONS, EXCHANGE, HEAD, HEAD_BYTES, HEADERS, Scope, View, answer};

/// How long to wait before the next try when the process is out of descriptors.
const BACK_OFF: Duration = Duration::from_millis(100);

/// How long answers that are under way may take at the end.
const GRACE: Duration = Duration::from_secs(1);

/// Answers on `listeners` until `shutdown`, which comes last in the life of the process: probes are answered while it
/// drains. All tasks end with this future.
///
/// # Errors
///
/// When a listener cannot be registered with the runtime.
pub async fn serve(
    listeners: Vec<(net::TcpListener, Scope)>,
    view: Arc<View>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let (stop, stopped) = watch::channel(false);
    let mut loops = JoinSet::new();
    for (listener, scope) in listeners {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        loops.spawn(accept(listener, scope, Arc::clone(&view), stopped.clone()));
    }
    shutdown.await;
    stop.send_replace(true);
    // Each ends within the grace by itself.
    while loops.join_next().await.is_some() {}
    Ok(())
}

async fn accept(listener: TcpListener, scope: Scope, view: Arc<View>, mut stopped: watch::Receiver<bool>) {
    let mut connections = Connections::default();
    let mut stop = pin!(async { drop(stopped.wait_for(|stopped| *stopped).await) });
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_) = connections.running.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connections.start(exchange(stream, scope, Arc::clone(&view))),
                // Out of descriptors, or the client has gone already: the listener itself is as good as before.
                Err(error) => {
                    tracing::debug!(%error, "admin: cannot accept");
                    time::sleep(BACK_OFF).await;
                }
            },
        }
    }
    drop(listener);
    // Over the grace they are cut when `connections` is dropped.
    let _ = time::timeout(GRACE, async { while connections.running.join_next().await.is_some() {} }).await;
}

/// At most [`CONNECTIONS`] at a time, in the order of their arrival.
#[derive(Default)]
struct Connections {
    running: JoinSet<()>,
    order: VecDeque<AbortHandle>,
}

impl Connections {
    fn start(&mut self, connection: impl Future<Output = ()> + Send + 'static) {
        self.order.retain(|task| !task.is_finished());
        if self.order.len() >= CONNECTIONS
            && let Some(oldest) = self.order.pop_front()
        {
            oldest.abort();
        }
        self.order.push_back(self.running.spawn(connection));
    }
}

/// One request and its answer.
async fn exchange(stream: TcpStream, scope: Scope, view: Arc<View>) {
    let service = service_fn(|request: Request<Incoming>| {
        let response = answer::answer(&request, scope, &view);
        async { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // Either way it is over: what went wrong concerns that client alone.
    let _ = time::timeout(EXCHANGE, connection).await;
}
