//! The example files in `config/`, each compiled, and the facts about them that their comments promise.

use std::{fs, path::Path};

use super::from_yaml;
use crate::plan::*;

fn compiled(name: &str) -> Plan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(name);
    let text = fs::read_to_string(&path).expect("the example is readable");
    from_yaml(text).unwrap_or_else(|problems| panic!("{name}:\n{problems}"))
}

fn tls_of<'a>(plan: &'a Plan, listener: &str) -> &'a ListenerTls {
    let found = plan.listeners.iter().find(|one| one.name == listener).expect("the listener is there");
    found.end.tls().unwrap_or_else(|| panic!("{listener} is plaintext"))
}

#[test]
fn every_example_compiles() {
    let mut number = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("config")).expect("config/ is there") {
        let name = entry.expect("readable").file_name().into_string().expect("a plain name");
        compiled(&name);
        number += 1;
    }
    assert!(number >= 5, "{number} examples");
}

#[test]
fn stargate_takes_both_kinds_of_tunnel_and_dials_any_pylon() {
    let plan = compiled("stargate.yaml");
    let tls = tls_of(&plan, "reverse-tunnel");
    assert_eq!(tls.alpn, AlpnPolicy { none: true, protocols: vec![b"h3".to_vec()] });
    assert_eq!(tls.client_auth.as_ref().map(|auth| auth.mode), Some(ClientAuthMode::Required));
    let listener = &plan.listeners[0];
    assert_eq!(listener.place.socket().unwrap().port(), 50072);
    assert!(listener.route_for(Some("stargate-0.stargate.example.com")).is_some());
    assert!(listener.route_for(None).is_none() && listener.route_for(Some("elsewhere.example")).is_none());
    let UpstreamEnd::Quic { destination: Destination::Requested(rules), tls } = &plan.upstreams[1].end else {
        panic!("Stargate names the Pylon")
    };
    assert!(rules.permits(&HostPort::parse("10.1.2.3:50082").unwrap()));
    assert!(!rules.permits(&HostPort::parse("192.0.2.1:50082").unwrap()));
    assert_eq!(tls.server_name, ServerNameRule::Fixed("stargate".into()));
}

#[test]
fn pylon_dials_one_endpoint_for_every_pod_and_lets_stargate_in() {
    let plan = compiled("pylon.yaml");
    let UpstreamEnd::Quic { destination: Destination::Fixed(to), tls } = &plan.upstreams[0].end else {
        panic!("one endpoint")
    };
    assert_eq!(to.to_string(), "stargate.example.com:50072");
    assert_eq!(tls.server_name, ServerNameRule::Requested);
    assert_eq!(tls.identity, Some(IdentityId(0)));
    assert!(plan.listeners[1].route_for(Some("stargate")).is_some());
    let allow = tls_of(&plan, "direct").client_auth.as_ref().and_then(|auth| auth.allow.as_ref()).unwrap();
    assert!(allow.dns[0].matches("stargate-2.stargate.example.com"));
}

#[test]
fn the_router_passes_names_on() {
    let plan = compiled("router.yaml");
    let UpstreamEnd::Quic { destination: Destination::Requested(rules), tls } = &plan.upstreams[1].end else {
        panic!("the router names the pod")
    };
    assert!(rules.permits(&HostPort::parse("stargate-0.stargate.svc.cluster.local:50072").unwrap()));
    assert!(!rules.permits(&HostPort::parse("stargate-0.stargate.svc.cluster.local:22").unwrap()));
    assert_eq!(tls.server_name, ServerNameRule::Requested);
    assert_ne!(Some(tls_of(&plan, "tunnels").identities[0]), tls.identity);
}

#[test]
fn grpc_carries_h2_on_50071_both_ways_and_times_nobody_out() {
    let plan = compiled("grpc.yaml");
    let h2 = AlpnPolicy { none: false, protocols: vec![b"h2".to_vec()] };
    let (ingress, egress) = (&plan.listeners[0], &plan.listeners[1]);
    assert_eq!(tls_of(&plan, "registration").alpn, h2);
    assert_eq!(ingress.place.socket().unwrap().port(), 50071);
    assert!(plan.listeners.iter().all(|listener| listener.idle_timeout.is_none()));
    assert!(egress.end.tls().is_none() && egress.place.socket().unwrap().ip().is_loopback());
    let UpstreamEnd::Tls { to, tls } = &plan.upstreams[1].end else { panic!("TLS towards the endpoint") };
    assert_eq!((to.to_string().as_str(), &tls.alpn), ("stargate.example.com:50071", &vec![b"h2".to_vec()]));
    assert_eq!(tls.server_name, ServerNameRule::Fixed("stargate.example.com".into()));
}
