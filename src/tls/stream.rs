//! TLS over a stream of bytes: TCP, whatever carries it below.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use rustls::{
    CipherSuite, CommonState, ProtocolVersion,
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::Acceptor,
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_rustls::{LazyConfigAcceptor, TlsConnector, TlsStream};

use super::{
    alert::Alert,
    listener::{Chosen, ListenerConfigs},
    peer::{Chain, PeerIdentity},
    upstream::UpstreamConfigs,
    verify::{
        failure_of,
        verdict::{self, Verdict},
    },
};
use crate::observe::labels::HandshakeFailure;

/// Bytes that rustls may hold back for a peer that takes none: one record. The relay above waits meanwhile.
const HELD_BACK: usize = 16 * 1024;

/// A client that was let in.
#[derive(Debug)]
pub struct AcceptedTls<IO> {
    /// Its stream.
    pub stream: TlsStream<IO>,
    /// What was chosen for it.
    pub chosen: Chosen,
    /// The certificate that it showed.
    pub identity: Option<PeerIdentity>,
    /// As of when its chain was judged. `None` where no verifier was asked.
    pub judged_at: Option<UnixTime>,
    /// What was agreed.
    pub terms: Terms,
}

/// A server that was found to be who it must be.
#[derive(Debug)]
pub struct DialledTls<IO> {
    /// Its stream.
    pub stream: TlsStream<IO>,
    /// The application protocol that it chose.
    pub alpn: Option<Vec<u8>>,
    /// The chain that it showed, and as of when that was judged. `None` where no verifier was asked.
    pub judged: Option<(Chain, UnixTime)>,
    /// What was agreed.
    pub terms: Terms,
}

/// What the ends agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The version.
    pub version: ProtocolVersion,
    /// The cipher suite.
    pub suite: CipherSuite,
}

/// A handshake that came to nothing.
#[derive(Debug)]
pub struct FailedTls<IO> {
    /// What it is counted under.
    pub reason: HandshakeFailure,
    /// What happened.
    pub detail: String,
    /// What the peer may still have to read an alert from.
    pub below: Option<IO>,
}

/// Carries a server's handshake through: the configuration is chosen when the ClientHello has been read.
///
/// # Errors
/// The peer speaks something else, nothing fits it, or it is not who it must be. It has been sent the alert.
pub async fn accept<IO>(configs: &ListenerConfigs, below: IO) -> Result<AcceptedTls<IO>, FailedTls<IO>>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let mut lazy = LazyConfigAcceptor::new(Acceptor::default(), below);
    let started = match (&mut lazy).await {
        Ok(started) => started,
        Err(error) => return Err(FailedTls::of(&error, Verdict::default(), lazy.take_io())),
    };
    let hello = started.client_hello();
    let alpn: Option<Vec<&[u8]>> = hello.alpn().map(Iterator::collect);
    let choice =
        configs.choose(hello.server_name(), alpn.as_deref()).map(|(chosen, config)| (chosen, config.tls.clone()));
    let (chosen, config) = match choice {
        Ok(choice) => choice,
        Err(refused) => {
            let mut below = started.io;
            // Who does not listen to the alert learns by the close.
            let _ = below.write_all(&record(refused.alert)).await;
            return Err(FailedTls { reason: refused.failure, detail: refused.reason.to_owned(), below: Some(below) });
        }
    };
    let accepting = started.into_stream_with(config, |connection| connection.set_buffer_limit(Some(HELD_BACK)));
    let (result, verdict) = Scoped::new(accepting.into_fallible()).await;
    match result {
        Ok(stream) => {
            let connection = stream.get_ref().1;
            let terms = Terms::of(connection);
            let identity =
                connection.peer_certificates().map(<[_]>::to_vec).and_then(|all| PeerIdentity::of_chain(all.into()));
            let (judged_at, stream) = (verdict.judged_at, TlsStream::from(stream));
            Ok(AcceptedTls { stream, chosen, identity, judged_at, terms })
        }
        Err((error, below)) => Err(FailedTls::of(&error, verdict, Some(below))),
    }
}

/// Carries a client's handshake through, with `name` as the server's and `alpn` on offer (what the upstream's
/// configuration says goes before).
///
/// # Errors
/// The server speaks something else, shares no protocol, or is not who it must be.
pub async fn connect<IO>(
    configs: &UpstreamConfigs,
    name: &str,
    alpn: &[Vec<u8>],
    below: IO,
) -> Result<DialledTls<IO>, FailedTls<IO>>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let failed = |reason, detail: String, below| FailedTls { reason, detail, below };
    let Ok(server_name) = ServerName::try_from(name.to_owned()) else {
        return Err(failed(HandshakeFailure::NameMismatch, format!("{name:?} is no server name"), Some(below)));
    };
    let config = configs.tls(alpn);
    let offered = !config.alpn_protocols.is_empty();
    let connecting = TlsConnector::from(config)
        .connect_with(server_name, below, |connection| connection.set_buffer_limit(Some(HELD_BACK)));
    let (result, verdict) = Scoped::new(connecting.into_fallible()).await;
    let stream = match result {
        Ok(stream) => stream,
        Err((error, below)) => return Err(FailedTls::of(&error, verdict, Some(below))),
    };
    let connection = stream.get_ref().1;
    let alpn = connection.alpn_protocol().map(<[u8]>::to_vec);
    // A server may stay silent on the offer (RFC 7301 section 3.2). What would be spoken then is anybody's guess.
    if offered && alpn.is_none() {
        let detail = "the server chose none of the application protocols on offer".to_owned();
        return Err(failed(HandshakeFailure::NoAlpn, detail, None));
    }
    let terms = Terms::of(connection);
    let chain = connection.peer_certificates().map(<[CertificateDer<'_>]>::to_vec);
    let judged = chain.map(Chain::from).zip(verdict.judged_at);
    Ok(DialledTls { stream: TlsStream::from(stream), alpn, judged, terms })
}

/// The metric reason of an error on an established stream that is really about the handshake: a server judges a
/// client's certificate when the client believes to be done (RFC 8446 section 4.4.2.4).
pub fn late_failure(error: &io::Error) -> Option<HandshakeFailure> {
    match tls_error(error)? {
        rustls::Error::AlertReceived(alert) => {
            let failure = Alert((*alert).into()).failure();
            (failure != HandshakeFailure::Protocol).then_some(failure)
        }
        _ => None,
    }
}

impl Terms {
    /// Of a handshake that is over.
    fn of(connection: &CommonState) -> Self {
        Self {
            version: connection.protocol_version().unwrap_or(ProtocolVersion::Unknown(0)),
            suite: connection.negotiated_cipher_suite().map_or(CipherSuite::Unknown(0), |suite| suite.suite()),
        }
    }
}

impl<IO> FailedTls<IO> {
    fn of(error: &io::Error, verdict: Verdict, below: Option<IO>) -> Self {
        let reason = verdict.failure.unwrap_or_else(|| match tls_error(error) {
            Some(rustls::Error::AlertReceived(alert)) => Alert((*alert).into()).failure(),
            Some(error) => failure_of(error),
            None => HandshakeFailure::Protocol,
        });
        let detail = match tls_error(error) {
            Some(rustls::Error::AlertReceived(alert)) => format!("refused by peer: {alert:?}"),
            Some(error) => error.to_string(),
            None if error.kind() == io::ErrorKind::UnexpectedEof => "gone before the end of the handshake".to_owned(),
            None => error.to_string(),
        };
        Self { reason, detail, below }
    }
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// A fatal alert before any keys: in the clear (RFC 8446 section 5.1).
fn record(alert: Alert) -> [u8; 7] {
    const ALERT: u8 = 21;
    const FATAL: u8 = 2;
    [ALERT, 3, 3, 0, 2, FATAL, alert.0]
}

/// A handshake, each step of which is taken within a scope of its own, so that what the verifier found is known.
struct Scoped<F> {
    inner: F,
    verdict: Verdict,
}

impl<F> Scoped<F> {
    fn new(inner: F) -> Self {
        Self { inner, verdict: Verdict::default() }
    }
}

impl<F: Future + Unpin> Future for Scoped<F> {
    type Output = (F::Output, Verdict);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let (polled, found) = verdict::scope(|| Pin::new(&mut this.inner).poll(cx));
        this.verdict.failure = this.verdict.failure.or(found.failure);
        this.verdict.judged_at = this.verdict.judged_at.or(found.judged_at);
        polled.map(|output| (output, this.verdict))
    }
}
