//! `tls://`, `tcp://` and `unix:`: one stream of bytes a connection.

use std::{
    io,
    net::{self, SocketAddr},
    os::unix,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    time::timeout,
};

use super::{quic::Refused, socket_of};
use crate::{
    material::common_name,
    observe::{PeerAddress, labels::HandshakeFailure},
    plan::{ListenerEnd, ListenerId, Place, Plan},
    tls::{
        Judged, ListenerConfigs, PeerIdentity, Standing,
        stream::{self, AcceptedTls, FailedTls, Terms},
    },
    transport::{
        ByteStream, Wire,
        names::{cipher_suite, tls_version},
        proxy::{ClientCertificate, ProxyHeader, TlsFacts},
        tcp::{bind_tcp, prepare},
        unix::{BoundPath, bind_unix},
    },
};

/// How long, and how much, a peer that was refused may still send before its connection is dropped: to drop it while
/// bytes wait unread is a RST, which overtakes the alert that says why.
const LINGER: (Duration, u64) = (Duration::from_secs(1), 64 * 1024);

/// A bound listener for streams.
#[derive(Debug)]
pub struct StreamListener {
    /// Its position in the plan.
    pub id: ListenerId,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix { listener: UnixListener, _path: BoundPath },
}

/// A connection that nothing has been read from, between the worker that accepted it and the one that will own it.
#[derive(Debug)]
pub struct Knock {
    /// Where it comes from.
    pub peer: PeerAddress,
    stream: Raw,
}

#[derive(Debug)]
enum Raw {
    Tcp(net::TcpStream),
    Unix(unix::net::UnixStream),
}

/// A peer or component whose one stream wants to go somewhere.
#[derive(Debug)]
pub struct StreamArrival {
    /// Where it came in.
    pub listener: ListenerId,
    /// Position of its route in the listener's plan.
    pub route: usize,
    /// Where it comes from.
    pub peer: PeerAddress,
    /// The address that it connected to. `None` for a Unix socket.
    pub local: Option<SocketAddr>,
    /// The server name that it asked for.
    pub server_name: Option<String>,
    /// The application protocol that was agreed.
    pub alpn: Option<Vec<u8>>,
    /// Version and suite of its TLS.
    pub terms: Option<Terms>,
    /// The generations that its handshake stood on.
    pub standing: Standing,
    /// The chain that it was judged by.
    pub judged: Option<Judged>,
    /// The certificate that it showed.
    pub identity: Option<PeerIdentity>,
    /// Its stream.
    pub stream: ByteStream,
}

impl StreamListener {
    /// Binds the listener on the runtime of the caller, which will accept.
    ///
    /// # Errors
    ///
    /// The socket cannot be bound.
    pub fn bind(plan: &Plan, id: ListenerId) -> io::Result<Self> {
        let listener = plan.listener(id);
        let socket = match (&listener.place, &listener.end) {
            (Place::Unix(path), ListenerEnd::Unix { mode }) => {
                let (socket, bound) = bind_unix(path, *mode)?;
                Socket::Unix { listener: UnixListener::from_std(socket)?, _path: bound }
            }
            _ => Socket::Tcp(TcpListener::from_std(bind_tcp(socket_of(listener)?)?)?),
        };
        Ok(Self { id, socket })
    }

    /// The address that it is bound to. `None` for a path.
    ///
    /// # Errors
    ///
    /// The socket is gone.
    pub fn local_addr(&self) -> io::Result<Option<SocketAddr>> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().map(Some),
            Socket::Unix { .. } => Ok(None),
        }
    }

    /// The next connection.
    ///
    /// # Errors
    ///
    /// There is none to be had at the moment: it was gone before it was taken, or the process or the machine is out of
    /// file descriptors. The next call may succeed.
    pub async fn accept(&self) -> io::Result<Knock> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok(Knock { peer: peer.into(), stream: Raw::Tcp(stream.into_std()?) })
            }
            Socket::Unix { listener, .. } => {
                let (stream, _) = listener.accept().await?;
                Ok(Knock { peer: PeerAddress::Unix, stream: Raw::Unix(stream.into_std()?) })
            }
        }
    }

    /// Carries the handshake through, where there is one: `configs` are the listener's at this moment, `None` where it is
    /// plaintext. Runs on the worker that will own the connection.
    ///
    /// # Errors
    ///
    /// The peer fails it, or takes longer than `timeouts.handshake`.
    pub async fn handshake(
        &self,
        plan: &Plan,
        configs: Option<&ListenerConfigs>,
        knock: Knock,
    ) -> Result<StreamArrival, Refused> {
        let peer = knock.peer;
        let (wire, local) = knock.stream.adopt(plan.transport.tcp_keep_alive).map_err(|error| Refused {
            reason: HandshakeFailure::Protocol,
            detail: format!("gone before it was taken: {error}"),
        })?;
        let Some(configs) = configs else {
            // A plan has a route for those who name nobody, and no other, on every plaintext listener for streams.
            return Ok(StreamArrival::plain(self.id, peer, local, wire));
        };
        match timeout(plan.timeouts.handshake, stream::accept(configs, wire.clone())).await {
            Ok(Ok(accepted)) => Ok(StreamArrival::secured(self.id, peer, local, accepted)),
            Ok(Err(FailedTls { reason, detail, below })) => {
                if let Some(below) = below {
                    linger(below).await;
                }
                Err(Refused { reason, detail })
            }
            Err(_) => {
                wire.abort();
                let detail = format!("not complete after {:?}", plan.timeouts.handshake);
                Err(Refused { reason: HandshakeFailure::Timeout, detail })
            }
        }
    }
}

impl Raw {
    /// Registers it with the runtime of the caller, and tells which address it reached.
    fn adopt(self, keep_alive: Duration) -> io::Result<(Wire, Option<SocketAddr>)> {
        match self {
            Self::Tcp(stream) => {
                let stream = TcpStream::from_std(stream)?;
                prepare(&stream, keep_alive)?;
                let local = stream.local_addr()?;
                Ok((stream.into(), Some(local)))
            }
            Self::Unix(stream) => Ok((UnixStream::from_std(stream)?.into(), None)),
        }
    }
}

impl StreamArrival {
    /// What a component is told of it.
    pub fn proxy_header(&self) -> ProxyHeader {
        ProxyHeader {
            source: self.peer.socket(),
            destination: self.local,
            alpn: self.alpn.clone(),
            authority: self.server_name.clone(),
            tls: self.terms.map(|terms| TlsFacts {
                version: tls_version(terms.version),
                cipher: cipher_suite(terms.suite),
                client_certificate: self.identity.as_ref().map(|identity| shown(identity, self.judged.is_some())),
            }),
        }
    }

    fn plain(listener: ListenerId, peer: PeerAddress, local: Option<SocketAddr>, wire: Wire) -> Self {
        Self {
            listener,
            route: 0,
            peer,
            local,
            server_name: None,
            alpn: None,
            terms: None,
            standing: Standing::default(),
            judged: None,
            identity: None,
            stream: ByteStream::Plain(wire),
        }
    }

    fn secured(
        listener: ListenerId,
        peer: PeerAddress,
        local: Option<SocketAddr>,
        accepted: AcceptedTls<Wire>,
    ) -> Self {
        let AcceptedTls { stream, chosen, identity, judged_at, terms } = accepted;
        let judged = judged_at.zip(identity.as_ref());
        Self {
            listener,
            route: chosen.route,
            peer,
            local,
            server_name: chosen.server_name,
            alpn: chosen.alpn,
            terms: Some(terms),
            standing: chosen.standing,
            judged: judged.map(|(at, identity)| Judged { chain: identity.chain.clone(), at }),
            identity,
            stream: ByteStream::Tls(Box::new(stream)),
        }
    }
}

/// A client's certificate, by its common name or, where it has none, the first of its others.
pub(super) fn shown(identity: &PeerIdentity, verified: bool) -> ClientCertificate {
    let common = identity.chain.first().and_then(common_name);
    let name = common.or_else(|| identity.dns_names.first().or(identity.uris.first()).cloned());
    ClientCertificate { name, verified }
}

/// Sends no more, and takes what still comes for a moment.
async fn linger(mut wire: Wire) {
    let (time, bytes) = LINGER;
    let over = async {
        wire.shutdown().await?;
        tokio::io::copy(&mut (&mut wire).take(bytes), &mut tokio::io::sink()).await
    };
    // Whoever is not done by then has had its chance.
    let _ = timeout(time, over).await;
}
