//! What a listener's identity must cover: checked at each reload, with calls that go on.

use super::{
    client::next,
    rig::{Ingress, More, SNI, often, publish, shown},
};
use crate::support::{
    pki::{Ca, Leaf},
    wait::until,
};

#[tokio::test]
async fn c29_an_identity_that_does_not_cover_what_it_must_is_refused_while_calls_go_on() {
    let identity = ", expect: { names: [ registry.test ], chains_to: workers }";
    // The bundle that is there for the workers is what the chain must reach; the first leaf is replaced before it counts.
    let rig = Ingress::start(More { identity, ..More::default() }, often()).await;
    assert!(!rig.iris.readiness().0, "a chain that reaches nothing was taken at the start");
    assert_eq!(rig.iris.material("identity", "edge")["last_refusal"]["reason"], "wrong-issuer");
    let good = rig.workers.leaf(&[SNI]);
    rig.renew(&good).await;
    let served = async || {
        let config = crate::streams::rig::client_config(&rig.workers, None, &["h2"]);
        crate::streams::rig::connect(rig.iris.address("in"), SNI, &config).await.unwrap()
    };
    let mut client = super::client::Client::over(served().await, None).await;
    let mut watch = client.watch().await.unwrap();
    next(&mut watch).await;
    let refusals: [(Leaf, &str); 2] =
        [(rig.workers.leaf(&["elsewhere.test"]), "name-not-covered"), (Ca::new("other").leaf(&[SNI]), "wrong-issuer")];
    for (count, (leaf, reason)) in (1..).zip(refusals) {
        let before = rig.iris.reloads("in", "server_identity", "rejected");
        publish(&rig.edge, &leaf);
        until(reason, || rig.iris.reloads("in", "server_identity", "rejected") > before).await;
        let row = rig.iris.material("identity", "edge");
        assert_eq!(row["last_refusal"]["reason"], reason, "{count}: {row}");
        assert_eq!(rig.iris.metric("iris_tls_candidate_rejected{component=\"in\",material=\"server_identity\"}"), 1.0);
        assert!(rig.iris.readiness().0, "what is in use is still good");
        assert_eq!(shown(&served().await), good.chain[0]);
        next(&mut watch).await;
    }
    assert_eq!(rig.registry.journal.events("cancelled"), [serde_json::Value::Null; 0]);
}
