use super::from_yaml;

fn notices(text: &str) -> Vec<String> {
    let plan = from_yaml(text).unwrap_or_else(|problems| panic!("{problems}"));
    plan.notices().iter().map(ToString::to_string).collect()
}

#[test]
fn departures_and_what_nothing_uses_are_said() {
    let text = "\
development: { allow_remote_plaintext: true, allow_unverified_peers: true }
identities:
  edge: { bundle: edge.pem }
  spare: { bundle: spare.pem, expect: { chains_to: roots } }
trust:
  workers: { bundle: ca.crt, on_contraction: { still_trusted: keep } }
  roots: { bundle: roots.crt }
  old: { bundle: old.crt }
listeners:
  - name: ingress
    listen: quic://[::]:50072
    tls: { identities: [ edge ] }
    routes: [ { upstream: component, client_auth: { trust: workers } } ]
  - name: egress
    listen: quic+plaintext://0.0.0.0:50172
    routes: [ { upstream: far } ]
upstreams:
  - { name: component, dial: \"quic+plaintext://127.0.0.1:60072\" }
  - { name: far, dial: \"quic://far.example:50072\", tls: { verification: disabled } }
  - { name: spare, dial: \"quic+plaintext://127.0.0.1:60073\" }
";
    assert_eq!(
        notices(text),
        [
            "development.allow_remote_plaintext: plaintext may leave this machine",
            "development.allow_unverified_peers: peers may go unverified",
            "upstreams.far.tls.verification: its peers are not verified",
            "trust.workers.on_contraction.still_trusted: connections outlive a contraction, which departs from the \
             rule that each is made again",
            "identities.spare: no listener and no upstream shows it",
            "trust.old: nobody is judged by it",
            "upstreams.spare: no listener leads to it",
        ]
    );
}

#[test]
fn the_examples_have_nothing_to_be_said_about() {
    for text in [
        include_str!("../../../../config/stargate.yaml"),
        include_str!("../../../../config/pylon.yaml"),
        include_str!("../../../../config/router.yaml"),
        include_str!("../../../../config/demo.yaml"),
    ] {
        assert_eq!(notices(text), Vec::<String>::new());
    }
}
