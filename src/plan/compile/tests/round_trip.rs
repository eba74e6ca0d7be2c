//! Any plan, written out as a file, compiles to itself.

use std::{net::SocketAddr, time::Duration};

use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::from_yaml;
use crate::{
    config::scalar::{duration, scheme::Scheme, size},
    plan::{pattern::HostRule, *},
};

prop_compose! {
    fn plans()(
        identities in vec(identity(), 1..4),
        trust in vec(trust(), 1..4),
        upstreams in vec(upstream(), 1..5),
        listeners in vec(listener(), 1..5),
        settings in settings(),
    ) -> Plan {
        let mut plan = Plan { identities, trust, upstreams, listeners, ..settings };
        settle(&mut plan);
        plan
    }
}

/// Makes what was drawn part by part go together: names differ, references exist, routes are allowed and reached.
fn settle(plan: &mut Plan) {
    let (identities, trust, upstreams) = (plan.identities.len(), plan.trust.len(), plan.upstreams.len());
    let auth = |auth: &mut Option<ClientAuth>| {
        if let Some(auth) = auth {
            auth.trust.0 %= trust;
        }
    };
    for (at, identity) in plan.identities.iter_mut().enumerate() {
        identity.name = format!("identity-{at}");
        identity.expect.chains_to = identity.expect.chains_to.map(|id| TrustId(id.0 % trust));
    }
    for (at, trust) in plan.trust.iter_mut().enumerate() {
        trust.name = format!("trust-{at}");
    }
    // A secured upstream with a fixed host and a fixed name is one that any listener may lead to.
    plan.upstreams[0] = UpstreamPlan {
        name: String::new(),
        end: UpstreamEnd::Quic {
            destination: Destination::Fixed(HostPort { host: "far.example".into(), port: 1 }),
            tls: UpstreamTls {
                verification: Verification::Trust(TrustId(0)),
                server_name: ServerNameRule::Fixed("far.example".into()),
                identity: None,
                alpn: vec![],
                policy: TlsPolicy::default(),
            },
        },
        proxy_header: false,
    };
    for (at, upstream) in plan.upstreams.iter_mut().enumerate() {
        upstream.name = format!("upstream-{at}");
        upstream.proxy_header &= matches!(upstream.end, UpstreamEnd::Tcp(_) | UpstreamEnd::Unix(_));
        if let UpstreamEnd::Quic { tls, .. } | UpstreamEnd::Tls { tls, .. } = &mut upstream.end {
            if let Verification::Trust(id) = &mut tls.verification {
                id.0 %= trust;
            }
            tls.identity = tls.identity.map(|id| IdentityId(id.0 % identities));
        }
    }
    for (at, listener) in plan.listeners.iter_mut().enumerate() {
        listener.name = format!("listener-{at}");
        // Ports and paths that differ leave no two on one address.
        match &mut listener.place {
            Place::Socket(address) => address.set_port(if address.port() == 0 { 0 } else { 1000 + at as u16 }),
            Place::Unix(path) => *path = format!("/run/{at}.sock").into(),
        }
        listener.idle_timeout = listener.idle_timeout.filter(|_| listener.end.unit() == Unit::Stream);
        let secured = match &mut listener.end {
            ListenerEnd::Quic(tls) | ListenerEnd::Tls(tls) => {
                tls.identities.iter_mut().for_each(|id| id.0 %= identities);
                tls.identities.sort_unstable();
                tls.identities.dedup();
                auth(&mut tls.client_auth);
                true
            }
            ListenerEnd::LoopbackQuic | ListenerEnd::Tcp => {
                let port = listener.place.socket().map_or(0, |address| address.port());
                listener.place = Place::Socket(([127, 0, 0, 1], port).into());
                false
            }
            ListenerEnd::Unix { .. } => false,
        };
        let names = secured || listener.end == ListenerEnd::LoopbackQuic;
        for route in &mut listener.routes {
            route.client_auth = route.client_auth.take().filter(|_| secured);
            route.sni = route.sni.take().filter(|_| names);
            auth(&mut route.client_auth);
            route.upstream.0 %= upstreams;
            let end = &plan.upstreams[route.upstream.0].end;
            let requested = matches!(end, UpstreamEnd::Quic { destination: Destination::Requested(_), .. });
            let named = end.tls().is_some_and(|tls| tls.server_name == ServerNameRule::Requested);
            let fits = (secured || end.tls().is_some())
                && (!requested || listener.end == ListenerEnd::LoopbackQuic)
                && (!named || names)
                && (listener.end != ListenerEnd::LoopbackQuic || end.unit() == Unit::Session)
                && !(named && listener.end.unit() == Unit::Stream && end.unit() == Unit::Session);
            if !fits {
                route.upstream = UpstreamId(0);
            }
        }
        let mut reached: Vec<RoutePlan> = Vec::new();
        for route in listener.routes.drain(..) {
            let taken = |earlier: &RoutePlan| match (&earlier.sni, &route.sni) {
                (None, _) => true,
                (Some(earlier), Some(this)) => this.is_covered_by(earlier.as_str()),
                (Some(_), None) => false,
            };
            if !reached.iter().any(taken) {
                reached.push(route);
            }
        }
        listener.routes = reached;
    }
    // Each requested destination has a plaintext listener of its own.
    for at in 0..plan.upstreams.len() {
        if let UpstreamEnd::Quic { destination: Destination::Requested(_), .. } = plan.upstreams[at].end {
            plan.listeners.push(ListenerPlan {
                name: format!("requests-{at}"),
                place: Place::Socket(([127, 0, 0, 1], 2000 + at as u16).into()),
                end: ListenerEnd::LoopbackQuic,
                idle_timeout: None,
                routes: vec![RoutePlan { sni: None, client_auth: None, upstream: UpstreamId(at) }],
            });
        }
    }
}

prop_compose! {
    fn settings()(
        listen in option::of(1u16..), scrape in option::of(1u16..), json in any::<bool>(), actions in any::<bool>(),
        level in select(vec![tracing::Level::ERROR, tracing::Level::INFO, tracing::Level::TRACE]),
        workers in 1usize..=256, connections in 1usize..=1_000_000, handshakes in 1usize..=100_000,
        streams in 32u32..=2048, stream_window in 16_384u32..=1_048_576, datagram_buffer in 16_384usize..=1 << 24,
        (handshake, connect, drain) in (10u64..=300_000, 10u64..=300_000, 10u64..=3_600_000),
        (idle, keep_alive, close_grace) in (1_000u64..=3_600_000, 100u64..=499, 0u64..=60_000),
        (poll, debounce, rest) in (100u64..=10_000, 0u64..=1_000, 0u64..=1_000),
        segmentation_offload in any::<bool>(), socket_buffer in 65_536usize..=1 << 26, probes in 1u64..=7_200,
        remote in any::<bool>(),
    ) -> Plan {
        let ms = Duration::from_millis;
        Plan {
            admin: AdminPlan {
                listen: listen.map(|port| ([127, 0, 0, 1], port).into()),
                scrape: scrape.map(|port| ([192, 0, 2, 1], port).into()),
                actions: actions && listen.is_some(),
            },
            log: LogPlan { format: if json { LogFormat::Json } else { LogFormat::Text }, level },
            development: Development { allow_remote_plaintext: remote, allow_unverified_peers: true },
            workers,
            limits: Limits { connections, handshakes, streams, stream_window, datagram_buffer },
            timeouts: Timeouts {
                handshake: ms(handshake), connect: ms(connect), idle: ms(idle), keep_alive: ms(keep_alive),
                loopback_idle: ms(connect + 100),
                close_grace: ms(close_grace), drain: ms(drain),
            },
            transport: TransportSettings {
                segmentation_offload, socket_buffer, tcp_keep_alive: Duration::from_secs(probes),
            },
            reload: ReloadSettings { poll: ms(poll), debounce: ms(debounce), debounce_max: ms(debounce + rest) },
            identities: vec![], trust: vec![], listeners: vec![], upstreams: vec![],
        }
    }
}

prop_compose! {
    fn identity()(
        bundle in any::<bool>(), path in "/[a-z \\-:#'\"{}\\[\\]]{0,20}x", names in vec(dns(), 0..3), chains_to in option::of(0usize..9),
    ) -> IdentityPlan {
        let source = if bundle {
            IdentitySource::Bundle(path.into())
        } else {
            IdentitySource::Pair { certificate: path.clone().into(), private_key: format!("{path}.key").into() }
        };
        IdentityPlan { name: String::new(), source, expect: Expectation { names, chains_to: chains_to.map(TrustId) } }
    }
}

prop_compose! {
    fn revocation()(
        expired in select(vec![ExpiredLists::Use, ExpiredLists::Refuse]),
        depth in select(vec![RevocationDepth::Chain, RevocationDepth::Leaf]),
        unknown in select(vec![UnknownStatus::Accept, UnknownStatus::Refuse]),
    ) -> RevocationPolicy {
        RevocationPolicy { expired, depth, unknown }
    }
}

prop_compose! {
    fn trust()(
        path in "[a-z./]{1,20}x", lists in vec("/[a-z]{1,9}", 0..3), policy in revocation(), spread in option::of(0u64..=13_000),
    ) -> TrustPlan {
        TrustPlan {
            name: String::new(),
            bundle: path.into(),
            revocation: if lists.is_empty() { RevocationPolicy::default() } else { policy },
            revocation_lists: lists.into_iter().map(Into::into).collect(),
            still_trusted: match spread {
                Some(spread) => StillTrusted::Recycle { spread: Duration::from_millis(spread) },
                None => StillTrusted::Keep,
            },
        }
    }
}

fn dns() -> impl Strategy<Value = DnsPattern> {
    "(\\*\\.)?[a-z]{1,5}(\\.[a-z][a-z0-9]{0,3}){0,2}".prop_map(|text| DnsPattern::parse(&text).expect("a DNS pattern"))
}

fn uri() -> impl Strategy<Value = UriPattern> {
    "spiffe://[a-z.]{1,9}/[a-z/]{0,9}\\*?".prop_map(|text| UriPattern::parse(&text).expect("a URI pattern"))
}

fn rule() -> impl Strategy<Value = DestinationRule> {
    "(10\\.[0-9]\\.0\\.0/16|\\[fd0[0-9]::/16\\]|192\\.0\\.2\\.[1-9]|\\*\\.[a-z]{1,5}|[a-z]{1,5}\\.example):([1-9]|\\*)"
        .prop_map(|text| DestinationRule::parse(&text).expect("a destination rule"))
}

prop_compose! {
    fn client_auth()(trust in 0usize..9, optional in any::<bool>(), dns in vec(dns(), 0..3), uri in vec(uri(), 0..3)) -> ClientAuth {
        ClientAuth {
            trust: TrustId(trust),
            mode: if optional { ClientAuthMode::Optional } else { ClientAuthMode::Required },
            allow: (dns.len() + uri.len() > 0).then_some(NamePatterns { dns, uri }),
        }
    }
}

prop_compose! {
    fn policy()(suites in 1usize..=3, groups in 1usize..=4, turn in 0usize..4) -> TlsPolicy {
        let mut policy = TlsPolicy::default();
        policy.suites.rotate_left(turn % 3);
        policy.suites.truncate(suites);
        policy.groups.rotate_left(turn);
        policy.groups.truncate(groups);
        policy
    }
}

fn both_versions() -> TlsPolicy {
    TlsPolicy::of(vec![TlsVersion::Tls13, TlsVersion::Tls12])
}

prop_compose! {
    fn listener()(
        address in any::<SocketAddr>().prop_map(|at| SocketAddr::new(at.ip().to_canonical(), at.port())),
        kind in 0..5, mode in 0u32..=0o777, idle in option::of(100u64..=86_400_000),
        (identities, none, mut protocols) in (vec(0usize..9, 1..4), any::<bool>(), vec("[!-~]{1,8}", 0..4)),
        (client_auth, policy, version) in (option::of(client_auth()), policy(), any::<bool>()),
        routes in vec((option::of(dns()), option::of(client_auth()), 0usize..9), 1..5),
    ) -> ListenerPlan {
        ListenerPlan {
            name: String::new(),
            place: if kind == 4 { Place::Unix(Default::default()) } else { Place::Socket(address) },
            idle_timeout: idle.map(Duration::from_millis),
            end: match kind {
                0 => ListenerEnd::LoopbackQuic,
                1 => ListenerEnd::Tcp,
                4 => ListenerEnd::Unix { mode },
                _ => {
                    protocols.sort_unstable();
                    protocols.dedup();
                    protocols.retain(|protocol| protocol != "none");
                    let tls = ListenerTls {
                        identities: identities.into_iter().map(IdentityId).collect(),
                        alpn: AlpnPolicy {
                            none: none || protocols.is_empty(),
                            protocols: protocols.into_iter().map(String::into_bytes).collect(),
                        },
                        client_auth,
                        policy: if version && kind == 3 { both_versions() } else { policy },
                    };
                    if kind == 2 { ListenerEnd::Quic(tls) } else { ListenerEnd::Tls(tls) }
                }
            },
            routes: routes
                .into_iter()
                .map(|(sni, client_auth, upstream)| RoutePlan { sni, client_auth, upstream: UpstreamId(upstream) })
                .collect(),
        }
    }
}

prop_compose! {
    fn upstream()(
        kind in 0..6, proxy_header in any::<bool>(), alpn in vec("[a-m]{1,8}", 0..3), policy in policy(), host in "[a-z]{1,9}\\.example|192\\.0\\.2\\.[1-9]|fd00::[1-9a-f]", port in 1u16.., rules in vec(rule(), 1..4),
        trust in option::of(0usize..9), name in option::of("[a-z]{1,9}\\.example"), identity in option::of(0usize..9),
    ) -> UpstreamPlan {
        let tls = UpstreamTls {
            verification: trust.map_or(Verification::Disabled, |trust| Verification::Trust(TrustId(trust))),
            server_name: name.map_or(ServerNameRule::Requested, ServerNameRule::Fixed),
            identity: identity.map(IdentityId),
            alpn: alpn.into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().map(String::into_bytes).collect(),
            policy,
        };
        UpstreamPlan {
            name: String::new(),
            proxy_header,
            end: match kind {
                0 => UpstreamEnd::LoopbackQuic(([127, 0, 0, 1], port).into()),
                3 => UpstreamEnd::Tcp(([127, 0, 0, 1], port).into()),
                4 => UpstreamEnd::Unix(format!("/run/{port}.sock").into()),
                5 => UpstreamEnd::Tls { to: HostPort { host, port }, tls },
                1 => UpstreamEnd::Quic { destination: Destination::Fixed(HostPort { host, port }), tls },
                _ => UpstreamEnd::Quic { destination: Destination::Requested(DestinationRules(rules)), tls },
            },
        }
    }
}

/// The plan as a file, in JSON, which is YAML.
fn write(plan: &Plan) -> String {
    let Plan { admin, log, limits, timeouts, transport, reload, development, .. } = plan;
    let time = |value: Duration| duration::text(value);
    let bytes = |value: usize| size::text(value as u64);
    let http = |address: Option<SocketAddr>| address.map(|address| format!("http://{address}").into());
    let file = object([
        (
            "admin",
            Some(object([
                ("listen", http(admin.listen)),
                ("scrape", http(admin.scrape)),
                ("actions", Some(admin.actions.into())),
            ])),
        ),
        (
            "log",
            Some(json!({
                "format": if log.format == LogFormat::Json { "json" } else { "text" },
                "level": log.level.as_str().to_ascii_lowercase(),
            })),
        ),
        (
            "development",
            Some(json!({
                "allow_remote_plaintext": development.allow_remote_plaintext,
                "allow_unverified_peers": development.allow_unverified_peers,
            })),
        ),
        ("workers", Some(plan.workers.into())),
        (
            "limits",
            Some(json!({
                "connections": limits.connections, "handshakes": limits.handshakes, "streams": limits.streams,
                "stream_window": bytes(limits.stream_window as usize), "datagram_buffer": bytes(limits.datagram_buffer),
            })),
        ),
        (
            "timeouts",
            Some(json!({
                "handshake": time(timeouts.handshake), "connect": time(timeouts.connect), "idle": time(timeouts.idle),
                "keep_alive": time(timeouts.keep_alive), "loopback_idle": time(timeouts.loopback_idle),
                "close_grace": time(timeouts.close_grace), "drain": time(timeouts.drain),
            })),
        ),
        (
            "transport",
            Some(json!({
                "segmentation_offload": transport.segmentation_offload, "socket_buffer": bytes(transport.socket_buffer),
                "tcp_keep_alive": time(transport.tcp_keep_alive),
            })),
        ),
        (
            "reload",
            Some(json!({
                "poll": time(reload.poll), "debounce": time(reload.debounce), "debounce_max": time(reload.debounce_max),
            })),
        ),
        ("identities", Some(plan.identities.iter().map(|one| (one.name.clone(), write_identity(plan, one))).collect())),
        ("trust", Some(plan.trust.iter().map(|one| (one.name.clone(), write_trust(one))).collect())),
        ("listeners", Some(plan.listeners.iter().map(|one| write_listener(plan, one)).collect())),
        ("upstreams", Some(plan.upstreams.iter().map(|one| write_upstream(plan, one)).collect())),
    ]);
    file.to_string()
}

fn object<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    let given = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(|item| Value::from(text(item))).collect())
}

fn write_identity(plan: &Plan, identity: &IdentityPlan) -> Value {
    let path = |path: &std::path::Path| Some(path.to_str().unwrap().into());
    let (certificate, private_key, bundle) = match &identity.source {
        IdentitySource::Pair { certificate, private_key } => (path(certificate), path(private_key), None),
        IdentitySource::Bundle(bundle) => (None, None, path(bundle)),
    };
    let expect = object([
        ("names", list(&identity.expect.names, ToString::to_string)),
        ("chains_to", identity.expect.chains_to.map(|id| plan.trust(id).name.clone().into())),
    ]);
    object([("certificate", certificate), ("private_key", private_key), ("bundle", bundle), ("expect", Some(expect))])
}

fn write_trust(trust: &TrustPlan) -> Value {
    let RevocationPolicy { expired, depth, unknown } = trust.revocation;
    let revocation = json!({
        "expired": if expired == ExpiredLists::Use { "use" } else { "refuse" },
        "depth": if depth == RevocationDepth::Chain { "chain" } else { "leaf" },
        "unknown": if unknown == UnknownStatus::Accept { "accept" } else { "refuse" },
    });
    object([
        ("bundle", Some(json!(trust.bundle))),
        ("revocation_lists", Some(json!(trust.revocation_lists))),
        ("revocation", (!trust.revocation_lists.is_empty()).then_some(revocation)),
        (
            "on_contraction",
            Some(match trust.still_trusted {
                StillTrusted::Keep => json!({ "still_trusted": "keep" }),
                StillTrusted::Recycle { spread } => {
                    json!({ "still_trusted": "recycle", "spread": duration::text(spread) })
                }
            }),
        ),
    ])
}

fn write_auth(plan: &Plan, auth: Option<&ClientAuth>) -> Option<Value> {
    auth.map(|auth| {
        let allow = auth.allow.as_ref().map(|allow| {
            object([
                ("dns", list(&allow.dns, ToString::to_string)),
                ("uri", list(&allow.uri, |uri| uri.as_str().into())),
            ])
        });
        let mode = if auth.mode == ClientAuthMode::Required { "required" } else { "optional" };
        object([
            ("trust", Some(plan.trust(auth.trust).name.clone().into())),
            ("mode", Some(mode.into())),
            ("allow", allow),
        ])
    })
}

fn write_listener(plan: &Plan, listener: &ListenerPlan) -> Value {
    let (scheme, tls) = match &listener.end {
        ListenerEnd::LoopbackQuic => (Scheme::QuicPlaintext, None),
        ListenerEnd::Tcp => (Scheme::Tcp, None),
        ListenerEnd::Unix { .. } => (Scheme::Unix, None),
        ListenerEnd::Quic(tls) | ListenerEnd::Tls(tls) => {
            let mut alpn: Vec<_> =
                tls.alpn.protocols.iter().map(|name| String::from_utf8(name.clone()).unwrap()).collect();
            if tls.alpn.none && !alpn.is_empty() {
                alpn.push("none".into());
            }
            let tls = object([
                ("identities", list(&tls.identities, |id| plan.identity(*id).name.clone())),
                ("alpn", Some(alpn.into())),
                ("client_auth", write_auth(plan, tls.client_auth.as_ref())),
                ("versions", write_versions(&tls.policy)),
                ("cipher_suites", list(&tls.policy.suites, |suite| suite.name.into())),
                ("groups", list(&tls.policy.groups, |group| group.0.into())),
            ]);
            (if listener.end.unit() == Unit::Session { Scheme::Quic } else { Scheme::Tls }, Some(tls))
        }
    };
    let unix = match listener.end {
        ListenerEnd::Unix { mode } => Some(json!({ "mode": format!("{mode:04o}") })),
        _ => None,
    };
    let route = |route: &RoutePlan| {
        object([
            ("sni", route.sni.as_ref().map(|sni| sni.as_str().into())),
            ("client_auth", write_auth(plan, route.client_auth.as_ref())),
            ("upstream", Some(plan.upstream(route.upstream).name.clone().into())),
        ])
    };
    object([
        ("name", Some(listener.name.clone().into())),
        ("listen", Some(format!("{scheme}{}", listener.place).into())),
        ("tls", tls),
        ("unix", unix),
        ("idle_timeout", listener.idle_timeout.map(|time| duration::text(time).into())),
        ("routes", Some(listener.routes.iter().map(route).collect())),
    ])
}

fn write_upstream(plan: &Plan, upstream: &UpstreamPlan) -> Value {
    let (dial, allow, tls) = match &upstream.end {
        UpstreamEnd::LoopbackQuic(address) => (format!("{}{address}", Scheme::QuicPlaintext), None, None),
        UpstreamEnd::Tcp(address) => (format!("{}{address}", Scheme::Tcp), None, None),
        UpstreamEnd::Unix(path) => (format!("{}{}", Scheme::Unix, path.display()), None, None),
        UpstreamEnd::Tls { to, tls } => (format!("{}{to}", Scheme::Tls), None, Some(write_upstream_tls(plan, tls))),
        UpstreamEnd::Quic { destination, tls } => {
            let (to, allow) = match destination {
                Destination::Fixed(host) => (host.to_string(), None),
                Destination::Requested(rules) => {
                    ("requested".into(), Some(object([("destinations", list(&rules.0, write_rule))])))
                }
            };
            (format!("{}{to}", Scheme::Quic), allow, Some(write_upstream_tls(plan, tls)))
        }
    };
    object([
        ("name", Some(upstream.name.clone().into())),
        ("dial", Some(dial.into())),
        ("allow", allow),
        ("tls", tls),
        ("proxy_protocol", Some(if upstream.proxy_header { "v2" } else { "none" }.into())),
    ])
}

fn write_versions(policy: &TlsPolicy) -> Option<Value> {
    list(&policy.versions, |version| version.as_str().into())
}

fn write_upstream_tls(plan: &Plan, tls: &UpstreamTls) -> Value {
    let (trust, verification) = match tls.verification {
        Verification::Trust(id) => (Some(plan.trust(id).name.clone().into()), "full"),
        Verification::Disabled => (None, "disabled"),
    };
    let server_name = match &tls.server_name {
        ServerNameRule::Requested => "requested",
        ServerNameRule::Fixed(name) => name,
    };
    object([
        ("trust", trust),
        ("verification", Some(verification.into())),
        ("server_name", Some(server_name.into())),
        ("identity", tls.identity.map(|id| plan.identity(id).name.clone().into())),
        ("alpn", list(&tls.alpn, |name| String::from_utf8(name.clone()).unwrap())),
        ("versions", write_versions(&tls.policy)),
        ("cipher_suites", list(&tls.policy.suites, |suite| suite.name.into())),
        ("groups", list(&tls.policy.groups, |group| group.0.into())),
    ])
}

fn write_rule(rule: &DestinationRule) -> String {
    let port = rule.port.map_or("*".into(), |port| port.to_string());
    match &rule.hosts {
        HostRule::Network(network) if network.addr().is_ipv6() => format!("[{network}]:{port}"),
        HostRule::Network(network) => format!("{network}:{port}"),
        HostRule::Name(name) => format!("{name}:{port}"),
    }
}

proptest! {
    #[test]
    fn a_plan_that_is_written_out_compiles_to_itself(plan in plans()) {
        let text = write(&plan);
        match from_yaml(&text) {
            Ok(again) => prop_assert_eq!(again, plan),
            Err(problems) => prop_assert!(false, "{}\n{}", problems, text),
        }
    }
}
