//! A stand-in for the registration service: plaintext HTTP/2 on any port, as the component behind Iris has it, or TLS.
//!
//! It does what workers rely on (a snapshot at once and every few seconds, an acknowledgement for each update, a bearer
//! token), and writes down what it saw. The tests in Rust and the example `registry` share it.

pub(crate) mod journal;
pub(crate) mod messages;
mod service;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::{server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use journal::Journal;
use service::Service;

/// What it is like.
pub(crate) struct Settings {
    pub(crate) address: SocketAddr,
    /// What calls must bear.
    pub(crate) token: String,
    /// Between two snapshots of a Watch.
    pub(crate) every: Duration,
    /// What every Stargate is said to be dialled at.
    pub(crate) dial_address: String,
    /// A `FileDescriptorSet`, for reflection.
    pub(crate) descriptors: Option<Vec<u8>>,
    /// TLS in place of plaintext.
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            token: "worker-token".to_owned(),
            every: Duration::from_secs(5),
            dial_address: "https://stargate.example.com:50071".to_owned(),
            descriptors: None,
            tls: None,
        }
    }
}

/// The stand-in, until it is dropped. Connections that it has live on.
pub(crate) struct Registry {
    pub(crate) address: SocketAddr,
    pub(crate) journal: Journal,
    accepting: JoinHandle<()>,
}

impl Registry {
    pub(crate) async fn start(settings: Settings, journal: Journal) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.address).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, Arc::new(settings), journal.clone()));
        Ok(Self { address, journal, accepting })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, settings: Arc<Settings>, journal: Journal) {
    let mut number = 0;
    while let Ok((stream, peer)) = listener.accept().await {
        number += 1;
        // Answers are small and must not wait for one another.
        let _ = stream.set_nodelay(true);
        let (journal, service) = (journal.clone(), Service::new(number, settings.clone(), journal.clone()));
        let tls = settings.tls.clone();
        tokio::spawn(async move {
            journal.write(json!({ "event": "connected", "connection": number, "peer": peer.to_string() }));
            let error = match tls {
                None => serve(stream, service).await,
                Some(tls) => match TlsAcceptor::from(tls).accept(stream).await {
                    Ok(stream) => serve(stream, service).await,
                    Err(error) => Some(error.to_string()),
                },
            };
            journal.write(json!({ "event": "disconnected", "connection": number, "error": error }));
        });
    }
}

/// Serves one connection to its end. Why it ended, if that was no clean end.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, service: Service) -> Option<String> {
    let answer = service_fn(move |request| service.clone().answer(request));
    let served = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer).await;
    served.err().map(|error| format!("{error:?}"))
}
