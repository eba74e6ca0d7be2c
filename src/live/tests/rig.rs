//! One upstream whose trust and client identity change, and connections that were dialled to it, without any network.

use std::{sync::Arc, time::SystemTime};

use rustls::pki_types::UnixTime;

use crate::{
    live::{Connection, FarSide, Footing},
    material::{
        Generations, MaterialId,
        load::load_one,
        observed,
        testing::{Bench, Ca, Leaf},
    },
    observe::Observer,
    plan::{
        Destination, HostPort, ListenerEnd, ListenerId, ListenerPlan, Place, RoutePlan, ServerNameRule, StillTrusted,
        TlsPolicy, TrustId, UpstreamEnd, UpstreamId, UpstreamPlan, UpstreamTls, Verification,
    },
    tls::{Configs, Judged},
};

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) observer: Arc<Observer>,
    generations: Generations,
}

impl Rig {
    /// Trusts `cas`; what is still trusted after a contraction has this fate.
    pub(super) fn new(cas: &[&Ca], still_trusted: StillTrusted, identity: Option<&Leaf>) -> Self {
        let mut bench = Bench::new();
        let trust = bench.trust("peers", &pem(cas));
        bench.plan.trust[0].still_trusted = still_trusted;
        let identity = identity.map(|leaf| bench.identity("client", leaf));
        bench.plan.listeners.push(ListenerPlan {
            name: "out".to_owned(),
            place: Place::Socket("[::1]:0".parse().unwrap()),
            idle_timeout: None,
            end: ListenerEnd::LoopbackQuic,
            routes: vec![RoutePlan { sni: None, client_auth: None, upstream: UpstreamId(0) }],
        });
        bench.plan.upstreams.push(UpstreamPlan {
            name: "peer".to_owned(),
            end: UpstreamEnd::Quic {
                destination: Destination::Fixed(HostPort { host: "peer.test".to_owned(), port: 1 }),
                tls: UpstreamTls {
                    verification: Verification::Trust(trust),
                    server_name: ServerNameRule::Requested,
                    identity,
                    alpn: Vec::new(),
                    policy: TlsPolicy::default(),
                },
            },
            proxy_header: false,
        });
        let observer = Observer::new(observed::setup(&bench.plan));
        let mut rig = Self { bench, observer, generations: Generations::default() };
        rig.reread();
        rig
    }

    fn reread(&mut self) {
        for id in MaterialId::all(&self.bench.plan) {
            let built = load_one(&self.bench.plan, &self.generations, id, SystemTime::now());
            self.generations.record(id, Ok(built.unwrap()), SystemTime::now());
        }
    }

    /// Configurations of now.
    pub(super) fn configs(&self) -> Arc<Configs> {
        Arc::new(Configs::derive(&self.bench.plan, &self.generations).unwrap())
    }

    /// The same when these are trusted.
    pub(super) fn trusting(&mut self, cas: &[&Ca]) -> Arc<Configs> {
        self.bench.write("peers.ca", pem(cas));
        self.reread();
        self.configs()
    }

    /// The same with another identity.
    pub(super) fn showing(&mut self, leaf: &Leaf) -> Arc<Configs> {
        self.bench.write("client.crt", &leaf.chain);
        self.bench.write("client.key", &leaf.key);
        self.reread();
        self.configs()
    }

    pub(super) fn recycle_pending(&self) -> String {
        let text = self.observer.expose(SystemTime::now());
        let line = text.lines().find_map(|line| line.strip_prefix("iris_recycle_pending{component=\"peer\"} "));
        line.unwrap().to_owned()
    }
}

fn pem(cas: &[&Ca]) -> String {
    cas.iter().map(|ca| ca.pem()).collect()
}

/// A connection from the component, not dialled on yet.
pub(super) fn connection() -> Connection {
    Connection::new(
        (ListenerId(0), 0),
        UpstreamId(0),
        std::net::SocketAddr::from(([127, 0, 0, 1], 1)),
        Footing::default(),
    )
}

/// The far side under `configs`, whose server showed `leaf` at `at`.
pub(super) fn far(configs: &Configs, leaf: &Leaf, at: UnixTime) -> FarSide {
    let standing = configs.upstream(UpstreamId(0)).unwrap().standing();
    let judged = Judged { chain: vec![leaf.der.clone()].into(), at };
    FarSide { footing: Footing::new(standing, Some(judged)), alpn: None }
}

/// A connection that is dialled on.
pub(super) fn dialled(configs: &Configs, leaf: &Leaf, at: UnixTime) -> Arc<Connection> {
    let connection = connection();
    connection.set_far(far(configs, leaf, at));
    Arc::new(connection)
}

/// The trust of the rig.
pub(super) const TRUST: TrustId = TrustId(0);
