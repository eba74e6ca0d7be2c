//! One listener and one upstream over a small PKI, and the handshake between them.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use quinn::{Connection, ConnectionError, Endpoint, EndpointConfig, TokioRuntime};

use crate::{
    material::{
        load,
        testing::{Bench, Ca, Leaf},
    },
    observe::labels::HandshakeFailure,
    plan::{
        AlpnPolicy, ClientAuth, ClientAuthMode, Destination, HostPort, IdentityId, ListenerEnd, ListenerId,
        ListenerPlan, ListenerTls, NamePatterns, Place, RoutePlan, ServerNameRule, TlsPolicy, TrustId, UpstreamEnd,
        UpstreamId, UpstreamPlan, UpstreamTls, Verification,
    },
    tls::{AcceptOutcome, Configs, DialOutcome, accept, classify, initial_only},
};

/// Whatever happens happens within this time.
pub(super) const DEADLINE: Duration = Duration::from_secs(20);

/// One listener with identity `server`, and one upstream that trusts the CA which issued it.
pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) ca: Ca,
    pub(super) trust: TrustId,
    clients: usize,
}

impl Rig {
    pub(super) fn new() -> Self {
        let ca = Ca::new("rig root");
        let leaf = ca.leaf(&["server.example"]);
        Self::with_server(ca, &leaf)
    }

    pub(super) fn with_server(ca: Ca, leaf: &Leaf) -> Self {
        let mut bench = Bench::new();
        let trust = bench.trust("rig", &ca.pem());
        let server = bench.identity("server", leaf);
        bench.plan.listeners.push(ListenerPlan {
            name: "listener".to_owned(),
            place: Place::Socket("[::1]:0".parse().expect("address")),
            idle_timeout: None,
            end: ListenerEnd::Quic(ListenerTls {
                identities: vec![server],
                alpn: AlpnPolicy { none: true, protocols: Vec::new() },
                client_auth: None,
                policy: TlsPolicy::default(),
            }),
            routes: vec![RoutePlan { sni: None, client_auth: None, upstream: UpstreamId(0) }],
        });
        bench.plan.upstreams.push(UpstreamPlan {
            name: "upstream".to_owned(),
            end: UpstreamEnd::Quic {
                destination: Destination::Fixed(HostPort { host: "server.example".to_owned(), port: 1 }),
                tls: UpstreamTls {
                    verification: Verification::Trust(trust),
                    server_name: ServerNameRule::Requested,
                    identity: None,
                    alpn: Vec::new(),
                    policy: TlsPolicy::default(),
                },
            },
            proxy_header: false,
        });
        Self { bench, ca, trust, clients: 0 }
    }

    pub(super) fn listener(&mut self) -> &mut ListenerTls {
        match &mut self.bench.plan.listeners[0].end {
            ListenerEnd::Quic(tls) => tls,
            _ => unreachable!("made as a secured one"),
        }
    }

    pub(super) fn routes(&mut self) -> &mut Vec<RoutePlan> {
        &mut self.bench.plan.listeners[0].routes
    }

    pub(super) fn upstream(&mut self) -> &mut UpstreamTls {
        match &mut self.bench.plan.upstreams[0].end {
            UpstreamEnd::Quic { tls, .. } => tls,
            _ => unreachable!("made as a secured one"),
        }
    }

    pub(super) fn alpn(&mut self, none: bool, protocols: &[&str]) {
        self.listener().alpn = AlpnPolicy { none, protocols: bytes(protocols) };
    }

    pub(super) fn client(&mut self, leaf: &Leaf) -> IdentityId {
        self.clients += 1;
        let id = self.bench.identity(&format!("client-{}", self.clients), leaf);
        self.upstream().identity = Some(id);
        id
    }

    /// Client authentication of the listener, by the bundle of the rig.
    pub(super) fn client_auth(&mut self, mode: ClientAuthMode, allow: Option<NamePatterns>) {
        self.listener().client_auth = Some(ClientAuth { trust: self.trust, mode, allow });
    }

    pub(super) fn configs(&self) -> Configs {
        self.configs_at(SystemTime::now())
    }

    /// With materials that were good at another time.
    pub(super) fn configs_at(&self, now: SystemTime) -> Configs {
        let generations = load(&self.bench.plan, now);
        let refused: Vec<String> = generations.rejections().map(|(_, rejection)| rejection.to_string()).collect();
        assert!(refused.is_empty(), "{refused:?}");
        Configs::derive(&self.bench.plan, &generations).expect("derived")
    }

    /// One handshake of the upstream with the listener.
    pub(super) async fn shake(&self, server_name: &str, alpn: &[&str]) -> Shaken {
        Ends::new(&self.configs()).shake(server_name, &bytes(alpn)).await
    }
}

pub(super) fn bytes(protocols: &[&str]) -> Vec<Vec<u8>> {
    protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect()
}

/// What came of one handshake, at both ends.
pub(super) struct Shaken {
    pub(super) server: Result<Connection, ConnectionError>,
    pub(super) accepted: Arc<AcceptOutcome>,
    /// Of a client certificate judged late the client learns by a close.
    pub(super) client: Result<Connection, ConnectionError>,
    pub(super) dialled: Arc<DialOutcome>,
}

impl Shaken {
    /// Why it failed, as the server counts it and as the client does.
    pub(super) async fn failures(self) -> (HandshakeFailure, HandshakeFailure) {
        let server = self.server.expect_err("the server refuses");
        let client = match self.client {
            Err(error) => error,
            Ok(connection) => tokio::time::timeout(DEADLINE, connection.closed()).await.expect("within the deadline"),
        };
        (classify(&server, self.accepted.failure()), classify(&client, self.dialled.failure()))
    }
}

/// Endpoints for a number of handshakes.
pub(super) struct Ends {
    configs: (Arc<crate::tls::ListenerConfigs>, Arc<crate::tls::UpstreamConfigs>),
    server: Endpoint,
    pub(super) client: Endpoint,
    pub(super) transport: (quinn::TransportConfig, quinn::TransportConfig),
}

impl Ends {
    pub(super) fn new(configs: &Configs) -> Self {
        let listener = configs.listener(ListenerId(0)).expect("ready").clone();
        let upstream = configs.upstream(UpstreamId(0)).expect("ready").clone();
        let socket = std::net::UdpSocket::bind("[::1]:0").expect("bind");
        let config = server_config(initial_only());
        let server = Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime));
        let client = Endpoint::client("[::1]:0".parse().expect("address"));
        Self {
            configs: (listener, upstream),
            server: server.expect("endpoint"),
            client: client.expect("endpoint"),
            transport: Default::default(),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.server.local_addr().expect("bound")
    }

    pub(super) async fn shake(&mut self, server_name: &str, alpn: &[Vec<u8>]) -> Shaken {
        let (crypto, dialled) = self.configs.1.dial(alpn);
        let mut config = quinn::ClientConfig::new(crypto);
        config.transport_config(Arc::new(std::mem::take(&mut self.transport.1)));
        let connecting = self.client.connect_with(config, self.address(), server_name).expect("connect");
        let both = async { tokio::join!(self.accept(), connecting) };
        let ((server, accepted), client) = tokio::time::timeout(DEADLINE, both).await.expect("within the deadline");
        Shaken { server, accepted, client, dialled }
    }

    pub(super) async fn incoming(&self) -> quinn::Incoming {
        self.server.accept().await.expect("not closed")
    }

    pub(super) async fn accept(&mut self) -> (Result<Connection, ConnectionError>, Arc<AcceptOutcome>) {
        let transport = Arc::new(std::mem::take(&mut self.transport.0));
        let incoming = self.incoming().await;
        let (crypto, outcome) = accept(&self.configs.0);
        let mut config = server_config(crypto);
        config.transport_config(transport);
        let server = match incoming.accept_with(Arc::new(config)) {
            Ok(connecting) => connecting.await,
            Err(error) => Err(error),
        };
        (server, outcome)
    }
}

fn server_config(crypto: Arc<dyn quinn::crypto::ServerConfig>) -> quinn::ServerConfig {
    quinn::ServerConfig::with_crypto(crypto)
}
