//! `tls://`, `tcp://` and `unix:`: one stream of bytes a connection.

use std::{io, net::SocketAddr, path::Path, time::Duration};

use tokio::{
    net::UnixStream,
    time::{Instant, timeout},
};

use super::{
    Failure,
    quic::place,
    resolve::{addresses, share},
};
use crate::{
    observe::labels::HandshakeFailure,
    plan::{HostPort, Plan},
    tls::{
        Judged, Standing, UpstreamConfigs,
        stream::{self, FailedTls},
    },
    transport::{ByteStream, Wire, tcp::connect_tcp},
};

/// What a dial for a stream is asked for.
#[derive(Debug)]
pub struct StreamRequest<'a> {
    /// The server name that the arrival asked for.
    pub server_name: Option<&'a str>,
    /// The application protocols to offer, in order of preference, where the upstream names none. Empty: none.
    pub alpn: &'a [Vec<u8>],
}

/// A connected stream.
#[derive(Debug)]
pub struct DialledStream {
    /// The stream.
    pub stream: ByteStream,
    /// The application protocol that the far side chose.
    pub alpn: Option<Vec<u8>>,
    /// The generations that the handshake stood on.
    pub standing: Standing,
    /// The chain that the far side was judged by.
    pub judged: Option<Judged>,
}

impl DialledStream {
    fn plain(wire: Wire) -> Self {
        Self { stream: ByteStream::Plain(wire), alpn: None, standing: Standing::default(), judged: None }
    }
}

/// Connects to a component over TCP.
pub(super) async fn tcp(plan: &Plan, address: SocketAddr) -> Result<DialledStream, Failure> {
    let stream = connect_tcp(address, plan.transport.tcp_keep_alive).await;
    let stream = stream.map_err(|error| unreachable(&format!("component at {address}"), &error))?;
    Ok(DialledStream::plain(stream.into()))
}

/// Connects to a component over a Unix socket.
pub(super) async fn unix(path: &Path) -> Result<DialledStream, Failure> {
    let stream = UnixStream::connect(path).await;
    let stream = stream.map_err(|error| unreachable(&format!("component at {}", path.display()), &error))?;
    Ok(DialledStream::plain(stream.into()))
}

/// Connects to a peer with TLS over TCP, its addresses in turn.
pub(super) async fn tls(
    plan: &Plan,
    to: &HostPort,
    configs: &UpstreamConfigs,
    request: &StreamRequest<'_>,
) -> Result<DialledStream, Failure> {
    let name = configs
        .server_name(request.server_name)
        .ok_or_else(|| (HandshakeFailure::NameMismatch, "server_name is `requested`, and none was asked for".into()))?;
    let deadline = Instant::now() + plan.timeouts.connect;
    let candidates = addresses(to).await?;
    let mut first_failure = None;
    for (index, address) in candidates.iter().enumerate() {
        let time = share(deadline.saturating_duration_since(Instant::now()), candidates.len() - index);
        match timeout(time, attempt(plan.transport.tcp_keep_alive, *address, name, configs, request)).await {
            Ok(Ok(dialled)) => return Ok(dialled),
            // The first says most: later ones are fallbacks.
            Ok(Err((reason, detail))) => {
                first_failure.get_or_insert((reason, format!("{}: {detail}", place(to, *address))));
            }
            Err(_) => {
                let detail = format!("{}: no answer in {time:.1?}", place(to, *address));
                first_failure.get_or_insert((HandshakeFailure::Timeout, detail));
            }
        }
    }
    Err(first_failure.unwrap_or_else(|| (HandshakeFailure::Unreachable, format!("{to} has no address"))))
}

async fn attempt(
    keep_alive: Duration,
    address: SocketAddr,
    name: &str,
    configs: &UpstreamConfigs,
    request: &StreamRequest<'_>,
) -> Result<DialledStream, Failure> {
    let connected = connect_tcp(address, keep_alive).await;
    let wire: Wire = connected.map_err(|error| (HandshakeFailure::Unreachable, error.to_string()))?.into();
    match stream::connect(configs, name, request.alpn, wire).await {
        Ok(dialled) => Ok(DialledStream {
            stream: ByteStream::Tls(Box::new(dialled.stream)),
            alpn: dialled.alpn,
            standing: configs.standing(),
            judged: dialled.judged.map(|(chain, at)| Judged { chain, at }),
        }),
        Err(FailedTls { reason, detail, .. }) => Err((reason, detail)),
    }
}

fn unreachable(who: &str, error: &io::Error) -> Failure {
    (HandshakeFailure::Unreachable, format!("{who}: {error}"))
}
