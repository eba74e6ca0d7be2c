//! What a listener takes: application protocols, routes, identities, limits.

use super::rig::Rig;
use crate::tls::PeerIdentity;

#[tokio::test]
async fn without_application_protocols_both_ends_know_each_other() {
    let shaken = Rig::new().shake("server.example", &[]).await;
    let (server, client) = (shaken.server.expect("accepted"), shaken.client.expect("connected"));
    let chosen = shaken.accepted.chosen().expect("chosen");
    assert_eq!((chosen.server_name.as_deref(), &chosen.alpn, chosen.route), (Some("server.example"), &None, 0));
    assert_eq!((shaken.accepted.failure(), shaken.dialled.failure()), (None, None));
    let peer = PeerIdentity::of(&client).expect("the server shows a certificate");
    assert_eq!(peer.dns_names, ["server.example"]);
    assert_eq!(PeerIdentity::of(&server), None);
}
