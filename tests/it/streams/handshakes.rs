//! Who gets in, under which terms, and what everybody else is told.

use std::io::ErrorKind;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::rig::{Egress, Ingress, client_config, read_all};
use crate::support::{
    pki::Ca,
    wait::{until, within},
};

const AUTH: &str = ", client_auth: { trust: workers, mode: required, allow: { dns: [ '*.workers.test' ] } }";

#[tokio::test]
async fn c23_the_protocol_is_agreed_on_or_nothing_is() {
    let rig = Ingress::start(", alpn: [ h2 ]", "").await;
    let peer = rig.connect("iris.test", &client_config(&rig.ca, None, &["http/1.1", "h2"])).await.unwrap();
    assert_eq!(peer.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    for offer in [&["http/1.1"][..], &[]] {
        let error = rig.connect("iris.test", &client_config(&rig.ca, None, offer)).await.unwrap_err();
        assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
    }
    until("the counts", || rig.iris.failures("in", "no_alpn") == 2).await;
}

#[tokio::test]
async fn c27_who_is_not_who_it_must_be_is_refused_with_the_alert_for_it() {
    let rig = Ingress::start(AUTH, "").await;
    let other = Ca::new("other");
    for (leaf, alert, reason) in [
        (None, "CertificateRequired", "no_client_certificate"),
        (Some(other.leaf(&["a.workers.test"])), "UnknownCA", "unknown_issuer"),
        (Some(rig.workers.leaf(&["a.elsewhere.test"])), "AccessDenied", "name_not_allowed"),
    ] {
        let mut peer = rig.connect("iris.test", &client_config(&rig.ca, leaf.as_ref(), &[])).await.unwrap();
        // Whoever writes at once must still be able to read why not.
        let _ = peer.write_all(&[7; 3000]).await;
        let error = read_all(&mut peer).await.unwrap_err();
        assert!(error.to_string().contains(alert), "{alert}: {error}");
        until(reason, || rig.iris.failures("in", reason) == 1).await;
    }
    let worker = rig.workers.leaf(&["a.workers.test"]);
    let config = client_config(&rig.ca, Some(&worker), &[]);
    let connecting = rig.connect("iris.test", &config);
    let (peer, component) = tokio::join!(connecting, rig.component.accept());
    peer.unwrap().write_all(b"in").await.unwrap();
    let mut heard = [0; 2];
    within("the bytes", component.unwrap().0.read_exact(&mut heard)).await.unwrap();
}

#[tokio::test]
async fn c27_plaintext_is_refused() {
    let rig = Ingress::start("", "").await;
    let mut peer = TcpStream::connect(rig.iris.address("in")).await.unwrap();
    peer.write_all(b"GET / HTTP/1.1\r\nhost: iris.test\r\n\r\n").await.unwrap();
    let mut heard = Vec::new();
    let _ = within("the refusal", peer.read_to_end(&mut heard)).await;
    assert!(heard.is_empty() || heard[0] == 21, "an alert or nothing: {heard:?}");
    until("the count", || rig.iris.failures("in", "protocol") == 1).await;
}

#[tokio::test]
async fn c24_the_server_name_picks_the_route() {
    let rig = Ingress::routed().await;
    rig.connect("stargate-0.stargate.test", &client_config(&rig.ca, None, &[])).await.unwrap();
    let error = rig.connect("iris.test", &client_config(&rig.ca, None, &[])).await.unwrap_err();
    assert!(error.to_string().contains("UnrecognisedName"), "{error}");
    until("the count", || rig.iris.failures("in", "no_route") == 1).await;
}

#[tokio::test]
async fn old_versions_are_spoken_by_choice_alone() {
    let modern = Ingress::start("", "").await;
    let old = |ca: &Ca| {
        let mut config = client_config(ca, None, &[]);
        config.require_ems = true;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(ca.certificate()).unwrap();
        rustls::ClientConfig::builder_with_provider(std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth()
    };
    let error = modern.connect("iris.test", &old(&modern.ca)).await.unwrap_err();
    assert!(error.to_string().contains("ProtocolVersion"), "{error}");
    until("the count", || modern.iris.failures("in", "version") == 1).await;
    let lenient = Ingress::start(", versions: [ '1.3', '1.2' ], groups: [ secp256r1, x25519 ]", "").await;
    let peer = lenient.connect("iris.test", &old(&lenient.ca)).await.unwrap();
    assert_eq!(peer.get_ref().1.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_2));
    let peer = lenient.connect("iris.test", &client_config(&lenient.ca, None, &[])).await.unwrap();
    assert_eq!(peer.get_ref().1.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
    let group = peer.get_ref().1.negotiated_key_exchange_group().unwrap().name();
    assert!(matches!(group, rustls::NamedGroup::X25519 | rustls::NamedGroup::secp256r1), "{group:?}");
}

/// 14 KiB of application protocols on offer, in a record that comes byte by byte and in several.
#[tokio::test]
async fn a_client_hello_of_many_records_is_read() {
    let rig = Ingress::start(", alpn: [ h2 ]", "").await;
    let mut offer: Vec<String> = (0..450).map(|n| format!("a-protocol-with-a-long-name-{n:04}")).collect();
    offer.push("h2".to_owned());
    let mut config = client_config(&rig.ca, None, &offer.iter().map(String::as_str).collect::<Vec<_>>());
    config.max_fragment_size = Some(512);
    let peer = rig.connect("iris.test", &config).await.unwrap();
    assert_eq!(peer.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
}

#[tokio::test]
async fn c27_a_server_that_is_not_who_it_must_be_is_not_spoken_to() {
    let (ca, other) = (Ca::new("ca"), Ca::new("other"));
    for (leaf, alpn, tls, reason) in [
        (other.leaf(&["peer.test"]), &["h2"][..], ", alpn: [ h2 ]", "unknown_issuer"),
        (ca.leaf(&["elsewhere.test"]), &["h2"][..], ", alpn: [ h2 ]", "name_mismatch"),
        (
            ca.issue(crate::support::pki::LeafSpec::named(&["peer.test"]).expired()),
            &["h2"][..],
            ", alpn: [ h2 ]",
            "expired",
        ),
        (ca.leaf(&["peer.test"]), &["http/1.1"][..], ", alpn: [ h2 ]", "no_alpn"),
        (ca.leaf(&["peer.test"]), &[][..], ", alpn: [ h2 ]", "no_alpn"),
    ] {
        let rig = Egress::trusting(&ca, &leaf, alpn, tls).await;
        let mut component = TcpStream::connect(rig.iris.address("out")).await.unwrap();
        let (heard, _) = tokio::join!(read_all(&mut component), rig.accept());
        assert_eq!(heard.unwrap_err().kind(), ErrorKind::ConnectionReset, "{reason}");
        until(reason, || rig.iris.failures("peer", reason) == 1).await;
    }
}
