//! `tls://`: TLS over TCP.

use std::{
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use rustls::{ClientConnection, Error, PeerIncompatible, ProtocolVersion};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{
    attempt::{PARTING, Seen, Task},
    failure::{Failure, Reason, Step},
};
use crate::transport::names;

/// How long a server that asked for a certificate may take to refuse it, at the least. TLS 1.3 clients are done before
/// the server has judged them (RFC 8446 section 4.4.2.4), and one that accepts may stay silent.
const LATE: Duration = Duration::from_secs(2);

/// One handshake, which takes at most `time`.
pub(super) async fn attempt(task: &Task, address: SocketAddr, time: Duration, seen: &mut Seen) -> Result<(), Failure> {
    let began = Instant::now();
    seen.step = Step::Connect;
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| Failure::new(Reason::Unreachable, Step::Connect, format!("{address}: {error}")))?;
    seen.connect = Some(began.elapsed());
    seen.step = Step::Handshake;
    let (config, shown) =
        task.probing.tcp().map_err(|error| Failure::new(Reason::System, Step::Handshake, error.to_string()))?;
    seen.shown = shown;
    let handshake = Instant::now();
    let connected = TlsConnector::from(config).connect(task.name.clone(), stream).await;
    let mut stream = connected.map_err(|error| failure(&error, seen))?;
    let took = handshake.elapsed();
    seen.handshake = Some(took);
    let connection = stream.get_ref().1;
    note(connection, seen);
    let old = connection.protocol_version() != Some(ProtocolVersion::TLSv1_3);
    let result = if old || !seen.shown.asked_for_certificate() {
        Ok(())
    } else {
        let patience = LATE.max(took * 10).min(time.saturating_sub(began.elapsed()) / 2);
        accepted(&mut stream, patience, seen).await
    };
    // For the sake of the server's log: nothing is lost when it cannot be said.
    let _ = timeout(PARTING, stream.shutdown()).await;
    result?;
    if !task.probing.alpn.is_empty() && seen.alpn.is_none() {
        return Err(Failure::new(Reason::Alpn, Step::Handshake, "the server chose none of those offered"));
    }
    Ok(())
}

fn note(connection: &ClientConnection, seen: &mut Seen) {
    seen.version = connection.protocol_version().map(names::tls_version);
    seen.suite = connection.negotiated_cipher_suite().map(|suite| names::cipher_suite(suite.suite()));
    seen.group = connection.negotiated_key_exchange_group().map(|group| {
        let name = group.name();
        name.as_str().map_or_else(|| format!("0x{:04x}", u16::from(name)), str::to_owned)
    });
    seen.alpn = connection.alpn_protocol().map(<[u8]>::to_vec);
}

/// Waits for the server's verdict: data or a clean end say yes, and so does silence for so long.
async fn accepted(stream: &mut TlsStream<TcpStream>, patience: Duration, seen: &mut Seen) -> Result<(), Failure> {
    seen.step = Step::Confirm;
    let began = Instant::now();
    let answer = timeout(patience, stream.read(&mut [0])).await;
    seen.confirm = Some(began.elapsed());
    match answer {
        Err(_) | Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(match tls_error(&error) {
            Some(Error::AlertReceived(alert)) => Failure::alert(u8::from(*alert), true, Step::Confirm),
            _ => {
                let found = format!("the connection was cut when the certificate was due: {error}");
                Failure::new(Reason::ClientCertificate, Step::Confirm, found)
            }
        }),
    }
}

/// Why a handshake failed.
fn failure(error: &io::Error, seen: &Seen) -> Failure {
    if let Some(refusal) = seen.shown.refusal() {
        return Failure::refused(refusal);
    }
    let protocol = |found: String| Failure::new(Reason::Protocol, Step::Handshake, found);
    match tls_error(error) {
        Some(Error::AlertReceived(alert)) => {
            Failure::alert(u8::from(*alert), seen.shown.asked_for_certificate(), Step::Handshake)
        }
        Some(Error::NoApplicationProtocol) => {
            Failure::new(Reason::Alpn, Step::Handshake, "the server chose a protocol that was not offered")
        }
        Some(Error::InvalidMessage(_)) => protocol("the server answers with something that is not TLS".into()),
        Some(Error::PeerIncompatible(
            PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::SupportedVersionsExtensionRequired,
        )) => protocol("the server has neither TLS 1.3 nor TLS 1.2".into()),
        Some(other) => protocol(other.to_string()),
        None if seen.shown.asked_for_certificate() => {
            let found = format!("the connection was cut when the certificate was due: {error}");
            Failure::new(Reason::ClientCertificate, Step::Handshake, found)
        }
        None => protocol(format!("the connection was cut in the handshake: {error}")),
    }
}

fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}
