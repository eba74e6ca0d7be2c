//! The example of the design page, in what this build carries.

use super::from_yaml;
use crate::plan::*;

const EXAMPLE: &str = r#"
admin:
  listen: http://127.0.0.1:9460
  scrape: http://[::]:9461
identities:
  edge:
    certificate: /var/run/iris/edge/tls.crt
    private_key: /var/run/iris/edge/tls.key
    expect: { names: [ "*.stargate.example.com" ], chains_to: workers }
trust:
  workers:
    bundle: /var/run/iris/workers/ca.crt
    revocation_lists: [ /var/run/iris/workers/crl.pem ]
    on_contraction: { still_trusted: recycle, spread: 10s }
listeners:
  - name: reverse-tunnel
    listen: quic://[::]:50072
    tls:
      identities: [ edge ]
      alpn: []
      client_auth: { trust: workers, mode: required, allow:
        { dns: [ "*.workers.example" ], uri: [ "spiffe://prod/*" ] } }
    routes:
      - { sni: "*.stargate.example.com", upstream: stargate }
      - { upstream: stargate }
  - name: to-stargate
    listen: quic+plaintext://127.0.0.1:50172
    routes: [ { upstream: stargate-edge } ]
  - name: to-pylons
    listen: quic+plaintext://127.0.0.1:50173
    routes: [ { upstream: any-pylon } ]
upstreams:
  - { name: stargate, dial: "quic+plaintext://127.0.0.1:60072" }
  - name: stargate-edge
    dial: quic://stargate.example.com:50072
    tls: { trust: workers, server_name: requested, identity: edge }
  - name: any-pylon
    dial: quic://requested
    allow: { destinations: [ "10.0.0.0/8:*", "*.pylon.svc.cluster.local:50072" ] }
    tls: { trust: workers, server_name: requested }
"#;

#[test]
fn the_example_of_the_design_compiles() {
    let plan = from_yaml(EXAMPLE).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(plan.admin.listen, Some("127.0.0.1:9460".parse().unwrap()));
    assert_eq!(plan.admin.scrape, Some("[::]:9461".parse().unwrap()));
    assert_eq!(plan.identities[0].expect.chains_to, Some(TrustId(0)));
    assert_eq!(plan.trust[0].still_trusted, StillTrusted::Recycle { spread: std::time::Duration::from_secs(10) });
    let ListenerEnd::Quic(tls) = &plan.listeners[0].end else { panic!("secured") };
    assert_eq!(tls.identities, [IdentityId(0)]);
    assert_eq!(tls.alpn, AlpnPolicy { none: true, protocols: vec![] });
    let auth = tls.client_auth.as_ref().unwrap();
    assert_eq!((auth.trust, auth.mode), (TrustId(0), ClientAuthMode::Required));
    assert!(auth.allow.as_ref().unwrap().uri[0].matches("spiffe://prod/worker"));
    assert_eq!(plan.listeners[0].routes.len(), 2);
    assert_eq!(plan.listeners[1].routes[0].upstream, UpstreamId(1));
    let UpstreamEnd::Quic { destination: Destination::Requested(rules), tls } = &plan.upstreams[2].end else {
        panic!("requested")
    };
    assert!(rules.permits(&HostPort { host: "10.1.2.3".into(), port: 1 }));
    assert_eq!(tls.server_name, ServerNameRule::Requested);
}
