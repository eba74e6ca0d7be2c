use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::*;
use crate::{
    material::{
        reload::Engine,
        testing::{Bench, Ca, leaf_params, validity},
    },
    observe::{Observer, Phase, Role, component::Component, labels::MaterialState, status::ConnectionsRow},
    plan::{
        AlpnPolicy, ClientAuth, ClientAuthMode, HostPort, IdentityId, ListenerTls, Place, RoutePlan, ServerNameRule,
        TlsPolicy, UpstreamId, UpstreamTls,
    },
};

fn secured(name: &str, identities: Vec<IdentityId>, trust: Option<TrustId>) -> ListenerPlan {
    let auth = |trust| ClientAuth { trust, mode: ClientAuthMode::Required, allow: None };
    let tls = ListenerTls {
        identities,
        alpn: AlpnPolicy::default(),
        client_auth: trust.map(auth),
        policy: TlsPolicy::default(),
    };
    ListenerPlan {
        name: name.to_owned(),
        place: Place::Socket("[::]:50072".parse().unwrap()),
        idle_timeout: None,
        end: ListenerEnd::Quic(tls),
        routes: vec![RoutePlan { sni: None, client_auth: None, upstream: UpstreamId(0) }],
    }
}

fn plaintext_upstream(name: &str) -> UpstreamPlan {
    UpstreamPlan {
        name: name.to_owned(),
        end: UpstreamEnd::LoopbackQuic("127.0.0.1:60072".parse().unwrap()),
        proxy_header: false,
    }
}

fn secured_upstream(name: &str, trust: TrustId, identity: IdentityId) -> UpstreamPlan {
    let tls = UpstreamTls {
        verification: Verification::Trust(trust),
        server_name: ServerNameRule::Requested,
        identity: Some(identity),
        alpn: Vec::new(),
        policy: TlsPolicy::default(),
    };
    let destination = Destination::Fixed(HostPort { host: "stargate.example".to_owned(), port: 50072 });
    UpstreamPlan { name: name.to_owned(), end: UpstreamEnd::Quic { destination, tls }, proxy_header: false }
}

/// Loads the plan and tells an observer.
fn observed(bench: &Bench, now: SystemTime) -> Arc<Observer> {
    let observer = Observer::new(setup(&bench.plan));
    let mut engine = Engine::new(Arc::new(bench.plan.clone()), Box::new(|_| Ok(())));
    let pass = engine.pass(now, false);
    tell_loaded(&observer, &bench.plan, engine.observed(&pass.changes), now);
    for position in 0..bench.plan.listeners.len() {
        observer.listener(position).set_bound("[::1]:1".parse().unwrap());
    }
    observer.enter(Phase::Running);
    observer
}

#[test]
fn every_role_of_a_plan_is_observed_and_ready_when_its_materials_are_good() {
    let (ca, now) = (Ca::new("root"), SystemTime::now());
    let mut bench = Bench::new();
    let edge = bench.identity("edge", &ca.leaf(&["edge.example"]));
    let workers = bench.trust("workers", &ca.pem());
    bench.plan.trust[0].revocation_lists = vec![bench.write("workers.crl", ca.revoke(&[7], -1, 30))];
    bench.plan.listeners = vec![secured("tunnel", vec![edge], Some(workers))];
    bench.plan.upstreams = vec![plaintext_upstream("stargate"), secured_upstream("far", workers, edge)];

    let observer = observed(&bench, now);
    assert_eq!(observer.readiness(now).reasons(), [""; 0]);
    let kinds = |component: &Component| component.roles().iter().map(Role::material).collect::<Vec<_>>();
    assert_eq!(kinds(observer.listener(0)), [Kind::ServerIdentity, Kind::Trust, Kind::Revocation]);
    assert_eq!(kinds(observer.upstream(0)), []);
    assert_eq!(kinds(observer.upstream(1)), [Kind::Trust, Kind::Revocation, Kind::ClientIdentity]);
    assert_eq!(observer.listener(0).address(), "quic://[::]:50072");
    assert_eq!(observer.upstream(1).address(), "quic://stargate.example:50072");

    let role = observer.listener(0).role(Kind::ServerIdentity).unwrap();
    assert_eq!(role.state(now), MaterialState::Active);
    assert_eq!(role.state(now + Duration::from_secs(80 * 86_400)), MaterialState::Expiring);
    let past = now + Duration::from_secs(91 * 86_400);
    assert_eq!(
        observer.readiness(past).reasons(),
        ["tunnel: server_identity: expired", "far: client_identity: expired"]
    );

    let status = serde_json::to_value(observer.status(now, ConnectionsRow::default())).unwrap();
    let materials = status["materials"].as_array().unwrap();
    assert_eq!(materials.len(), 3);
    let edge = materials.iter().find(|row| row["name"] == "edge").unwrap();
    assert_eq!(edge["certificates"][0]["names"][0], "edge.example");
    assert_eq!(edge["source"], "plain files");
    assert_eq!(edge["used_by"], serde_json::json!(["tunnel", "far"]));
    assert!(!status.to_string().contains("PRIVATE"));
}

#[test]
fn a_refused_material_keeps_its_roles_from_being_ready_and_says_why() {
    let (ca, now) = (Ca::new("root"), SystemTime::now());
    let mut bench = Bench::new();
    let good = bench.identity("good", &ca.leaf(&["good.example"]));
    let bad = bench.identity("bad", &ca.leaf(&["bad.example"]));
    bench.write("bad.key", "nothing");
    bench.plan.listeners = vec![secured("both", vec![good, bad], None), secured("one", vec![good], None)];
    bench.plan.upstreams = vec![plaintext_upstream("stargate")];
    let observer = observed(&bench, now);
    let reasons = observer.readiness(now).reasons();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(
        reasons[0].starts_with("both: server_identity: never loaded; what is on disk is refused: bad: no-private-key")
    );
    let text = observer.expose(now);
    assert!(text.contains(r#"iris_tls_candidate_rejected{component="both",material="server_identity"} 1"#), "{text}");
    assert!(text.contains(r#"iris_tls_candidate_rejected{component="one",material="server_identity"} 0"#), "{text}");
}

#[test]
fn an_early_material_is_held() {
    let (ca, now) = (Ca::new("root"), SystemTime::now());
    let mut params = leaf_params(&["edge.example"]);
    (params.not_before, params.not_after) = validity(1, 30);
    let mut bench = Bench::new();
    let edge = bench.identity("edge", &ca.issue(params));
    bench.plan.listeners = vec![secured("tunnel", vec![edge], None)];
    bench.plan.upstreams = vec![plaintext_upstream("stargate")];
    let observer = observed(&bench, now);
    assert_eq!(observer.listener(0).role(Kind::ServerIdentity).unwrap().state(now), MaterialState::Held);
    assert_eq!(observer.readiness(now).reasons(), ["tunnel: server_identity: what is on disk starts in the future"]);
    let row = &observer.status(now, ConnectionsRow::default()).materials[0];
    assert_eq!(row.state, "held");
    assert!(row.held_until.is_some());
}
