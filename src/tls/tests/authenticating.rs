//! Who gets in, and who is believed.

use std::time::{Duration, SystemTime};

use rcgen::{ExtendedKeyUsagePurpose, SerialNumber};

use super::rig::{DEADLINE, Ends, Rig};
use crate::{
    material::testing::{Ca, Leaf, ca_params, leaf_params, uri, validity},
    observe::labels::HandshakeFailure as Failure,
    plan::{
        ClientAuth, ClientAuthMode, DnsPattern, IdentityId, NamePatterns, RoutePlan, TrustId, UpstreamId, UriPattern,
        Verification,
    },
    tls::{PeerIdentity, classify},
};

fn allow(dns: &[&str], uris: &[&str]) -> Option<NamePatterns> {
    let dns = dns.iter().map(|text| DnsPattern::parse(text).expect("a pattern")).collect();
    Some(NamePatterns { dns, uri: uris.iter().map(|text| UriPattern::parse(text).expect("a pattern")).collect() })
}

/// Valid from and to so many days from now, and the time in the middle.
fn issued(ca: &Ca, from: i64, to: i64) -> Leaf {
    let mut params = leaf_params(&["server.example"]);
    (params.not_before, params.not_after) = validity(from, to);
    ca.issue(params)
}

fn in_days(days: i64) -> SystemTime {
    let distance = Duration::from_secs(days.unsigned_abs() * 86_400);
    if days < 0 { SystemTime::now() - distance } else { SystemTime::now() + distance }
}

/// A CA that outlives every leaf of these tests.
fn old_ca() -> Ca {
    let mut params = ca_params("rig root");
    (params.not_before, params.not_after) = validity(-400, 400);
    Ca::of(params)
}

#[tokio::test]
async fn a_client_without_a_certificate_is_refused_where_one_is_required() {
    let mut rig = Rig::new();
    rig.client_auth(ClientAuthMode::Required, None);
    let failures = rig.shake("server.example", &[]).await.failures().await;
    assert_eq!(failures, (Failure::NoClientCertificate, Failure::NoClientCertificate));
    rig.client_auth(ClientAuthMode::Optional, None);
    let shaken = rig.shake("server.example", &[]).await;
    assert_eq!(PeerIdentity::of(&shaken.server.expect("accepted")), None);
}

#[tokio::test]
async fn a_client_needs_an_allowed_name() {
    let mut rig = Rig::new();
    let mut params = leaf_params(&["w1.workers.example"]);
    params.subject_alt_names.push(uri("spiffe://prod/worker/1"));
    let leaf = rig.ca.issue(params);
    rig.client(&leaf);
    for (allow, admitted) in [
        (None, true),
        (allow(&["*.workers.example"], &[]), true),
        (allow(&[], &["spiffe://prod/*"]), true),
        (allow(&["other.example"], &["spiffe://prod/worker/1"]), true),
        (allow(&["other.example"], &["spiffe://test/*"]), false),
        (allow(&[], &[]), false),
    ] {
        rig.client_auth(ClientAuthMode::Optional, allow);
        let shaken = rig.shake("server.example", &[]).await;
        if admitted {
            let peer = PeerIdentity::of(&shaken.server.expect("accepted")).expect("it showed a certificate");
            assert_eq!(
                (peer.dns_names, peer.uris),
                (vec!["w1.workers.example".to_owned()], vec!["spiffe://prod/worker/1".to_owned()])
            );
            assert_eq!(*peer.chain, *std::slice::from_ref(&leaf.der));
        } else {
            assert_eq!(shaken.failures().await, (Failure::NameNotAllowed, Failure::NameNotAllowed));
        }
    }
}

#[tokio::test]
async fn clients_that_the_bundle_does_not_vouch_for() {
    let mut rig = Rig::new();
    rig.client_auth(ClientAuthMode::Required, None);
    let stranger = Ca::new("stranger").leaf(&["client.example"]);
    rig.client(&stranger);
    let failures = rig.shake("server.example", &[]).await.failures().await;
    assert_eq!(failures, (Failure::UnknownIssuer, Failure::UnknownIssuer));
    // The same name as the right CA, another key.
    let namesake = Ca::new("rig root").leaf(&["client.example"]);
    rig.client(&namesake);
    let failures = rig.shake("server.example", &[]).await.failures().await;
    assert_eq!(failures, (Failure::UnknownIssuer, Failure::UnknownIssuer));
}

#[tokio::test]
async fn a_client_certificate_for_servers_only_is_refused() {
    let mut rig = Rig::new();
    rig.client_auth(ClientAuthMode::Required, None);
    let mut params = leaf_params(&["client.example"]);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let leaf = rig.ca.issue(params);
    // Loaded as what no role shows, so that the check of usages lets it pass, then shown all the same.
    let id = rig.client(&leaf);
    rig.upstream().identity = None;
    let mut plan = rig.bench.plan.clone();
    let generations = crate::material::load(&plan, SystemTime::now());
    if let crate::plan::UpstreamEnd::Quic { tls, .. } = &mut plan.upstreams[0].end {
        tls.identity = Some(id);
    }
    let configs = crate::tls::Configs::derive(&plan, &generations).expect("derived");
    let failures = Ends::new(&configs).shake("server.example", &[]).await.failures().await;
    assert_eq!(failures, (Failure::BadCertificate, Failure::BadCertificate));
}

#[tokio::test]
async fn clients_outside_their_time() {
    for (from, to, failure) in [(-60, -20, Failure::Expired), (20, 60, Failure::NotYetValid)] {
        let ca = old_ca();
        let (server, client) = (issued(&ca, -300, 300), issued(&ca, from, to));
        let mut rig = Rig::with_server(ca, &server);
        rig.client_auth(ClientAuthMode::Required, None);
        rig.client(&client);
        let configs = rig.configs_at(in_days((from + to) / 2));
        let failures = Ends::new(&configs).shake("server.example", &[]).await.failures().await;
        // One alert says both.
        assert_eq!(failures, (failure, Failure::Expired));
    }
}

#[tokio::test]
async fn servers_outside_their_time() {
    for (from, to, failure) in [(-60, -20, Failure::Expired), (20, 60, Failure::NotYetValid)] {
        let ca = old_ca();
        let server = issued(&ca, from, to);
        let rig = Rig::with_server(ca, &server);
        let configs = rig.configs_at(in_days((from + to) / 2));
        let failures = Ends::new(&configs).shake("server.example", &[]).await.failures().await;
        assert_eq!(failures, (Failure::Expired, failure));
    }
}

#[tokio::test]
async fn servers_that_are_not_who_was_asked_for() {
    let mut rig = Rig::new();
    let failures = rig.shake("other.example", &[]).await.failures().await;
    assert_eq!(failures, (Failure::BadCertificate, Failure::NameMismatch));
    let other = rig.bench.trust("other", &Ca::new("other root").pem());
    rig.upstream().verification = Verification::Trust(other);
    let failures = rig.shake("server.example", &[]).await.failures().await;
    assert_eq!(failures, (Failure::UnknownIssuer, Failure::UnknownIssuer));
}

#[tokio::test]
async fn unverified_means_anybody_and_only_there() {
    let mut rig = Rig::new();
    rig.upstream().verification = Verification::Disabled;
    let shaken = rig.shake("other.example", &[]).await;
    shaken.client.expect("connected to whoever it is");
    assert_eq!(shaken.dialled.standing.trust, None);
}

#[tokio::test]
async fn a_server_may_be_asked_for_by_address() {
    let ca = Ca::new("rig root");
    let leaf = ca.leaf(&["server.example", "127.0.0.1"]);
    let shaken = Rig::with_server(ca, &leaf).shake("127.0.0.1", &[]).await;
    shaken.client.expect("the address is in the certificate");
    assert_eq!(shaken.accepted.chosen().expect("chosen").server_name, None, "addresses are not sent as SNI");
}

#[tokio::test]
async fn revoked_clients_and_servers_are_refused() {
    let mut rig = Rig::new();
    let issue = |rig: &Rig, serial: u64| {
        let mut params = leaf_params(&["client.example"]);
        params.serial_number = Some(SerialNumber::from(serial));
        rig.ca.issue(params)
    };
    let (good, bad) = (issue(&rig, 5), issue(&rig, 6));
    let list = rig.ca.revoke(&[6], -1, 7);
    let list = rig.bench.write("rig.crl", list);
    rig.bench.plan.trust[rig.trust.0].revocation_lists = vec![list];
    rig.client_auth(ClientAuthMode::Required, None);
    rig.client(&good);
    let shaken = rig.shake("server.example", &[]).await;
    shaken.server.expect("accepted");
    let standing = shaken.accepted.chosen().expect("chosen").standing;
    assert_eq!((standing.trust, standing.revocation), (Some((rig.trust, 1)), Some((rig.trust, 1))));
    rig.client(&bad);
    assert_eq!(rig.shake("server.example", &[]).await.failures().await, (Failure::Revoked, Failure::Revoked));
}

#[tokio::test]
async fn routes_may_differ_in_client_authentication() {
    let ca = Ca::new("rig root");
    let leaf = ca.leaf(&["open.example", "strict.example"]);
    let mut rig = Rig::with_server(ca, &leaf);
    let strict = ClientAuth { trust: rig.trust, mode: ClientAuthMode::Required, allow: None };
    let route =
        |sni: &str, client_auth| RoutePlan { sni: DnsPattern::parse(sni), client_auth, upstream: UpstreamId(0) };
    *rig.routes() = vec![route("open.example", None), route("strict.example", Some(strict))];
    let mut ends = Ends::new(&rig.configs());
    let shaken = ends.shake("open.example", &[]).await;
    shaken.server.expect("accepted");
    assert_eq!(shaken.accepted.chosen().expect("chosen").standing.trust, None);
    let shaken = ends.shake("strict.example", &[]).await;
    let chosen = shaken.accepted.chosen().expect("chosen").clone();
    assert_eq!((chosen.route, chosen.standing.trust), (1, Some((TrustId(0), 1))));
    assert_eq!(chosen.standing.identity, Some((IdentityId(0), 1)));
    assert_eq!(shaken.failures().await, (Failure::NoClientCertificate, Failure::NoClientCertificate));
}

#[tokio::test]
async fn a_client_that_is_refused_late_learns_why() {
    let mut rig = Rig::new();
    rig.client_auth(ClientAuthMode::Required, None);
    let shaken = rig.shake("server.example", &[]).await;
    let connection = shaken.client.expect("TLS 1.3 clients finish first");
    let error = tokio::time::timeout(DEADLINE, connection.closed()).await.expect("within the deadline");
    assert!(crate::tls::is_late_handshake_failure(&error));
    assert_eq!(classify(&error, shaken.dialled.failure()), Failure::NoClientCertificate);
}

#[tokio::test]
async fn three_hundred_authorities_do_not_break_the_handshake() {
    let mut rig = Rig::new();
    let many: String = (0..300).map(|n| Ca::new(&format!("bulk authority number {n}")).pem()).collect();
    let last = Ca::new("the last of them");
    let bundle = rig.bench.trust("many", &(many + &last.pem()));
    rig.listener().client_auth = Some(ClientAuth { trust: bundle, mode: ClientAuthMode::Required, allow: None });
    rig.client(&last.leaf(&["client.example"]));
    rig.shake("server.example", &[]).await.server.expect("accepted");
}
