//! `quic+plaintext://`: QUIC without TLS, to a component.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use iris_loopback::{ClientHello, HandshakeData};
use quinn::Endpoint;

use super::{DialRequest, Dialled, Failure};
use crate::{
    observe::labels::HandshakeFailure,
    plan::Plan,
    tls::{self, Standing},
    transport::{Session, config::loopback},
};

/// The sockets that one worker dials components from.
pub(super) struct LoopbackDialer {
    v4: Endpoint,
    /// Absent where the machine has no IPv6.
    v6: Option<Endpoint>,
}

impl LoopbackDialer {
    pub(super) fn open(plan: &Plan) -> io::Result<Self> {
        let remote = plan.development.allow_remote_plaintext;
        let (v4, v6) = match remote {
            false => (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST),
            true => (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED),
        };
        let open = |address: IpAddr| {
            let own = SocketAddr::new(address, 0);
            iris_loopback::endpoint_with(own, None, remote, plan.transport.socket_buffer).map(|(endpoint, _)| endpoint)
        };
        Ok(Self { v4: open(v4.into())?, v6: open(v6.into()).ok() })
    }

    pub(super) async fn dial(
        &self,
        plan: &Plan,
        address: SocketAddr,
        request: &DialRequest<'_>,
    ) -> Result<Dialled, Failure> {
        // QUIC itself would find out only by silence.
        if iris_loopback::nobody_listens(address) {
            return Err((HandshakeFailure::Unreachable, format!("nobody listens at {address}")));
        }
        let endpoint = match (address, &self.v6) {
            (SocketAddr::V4(_), _) => &self.v4,
            (SocketAddr::V6(_), Some(v6)) => v6,
            (SocketAddr::V6(_), None) => return Err((HandshakeFailure::Unreachable, "no IPv6 here".into())),
        };
        let hello = ClientHello {
            server_name: request.server_name.map(str::to_owned),
            alpn: request.alpn.to_vec(),
            destination: None,
            peer: request.peer.clone(),
        };
        let transport = loopback(plan, request.streams);
        let connecting = iris_loopback::connect_with(endpoint, address, hello, request.datagram_size, transport)
            .map_err(|error| (HandshakeFailure::Protocol, format!("component at {address}: {error}")))?;
        let connection = connecting
            .await
            .map_err(|error| (tls::classify(&error, None), format!("component at {address}: {error}")))?;
        let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
        let Some(data) = data else {
            return Err((HandshakeFailure::Protocol, format!("component at {address}: no handshake data")));
        };
        Ok(Dialled {
            session: Session::from(connection),
            address,
            alpn: data.alpn,
            limits: data.limits,
            standing: Standing::default(),
            judged: None,
        })
    }

    pub(super) async fn idle(&self) {
        self.v4.wait_idle().await;
        if let Some(v6) = &self.v6 {
            v6.wait_idle().await;
        }
    }
}
