//! A table of mistakes: one change to a good file, and exactly what is said about it.

use super::from_yaml;

/// A good file that uses most of what there is.
const BASE: &str = "\
admin:
  listen: http://127.0.0.1:9460
identities:
  edge: { certificate: tls.crt, private_key: tls.key }
trust:
  workers: { bundle: ca.crt }
listeners:
  - name: ingress
    listen: quic://[::]:50072
    tls: { identities: [ edge ] }
    routes: [ { upstream: component } ]
  - name: egress
    listen: quic+plaintext://127.0.0.1:50172
    routes: [ { upstream: far } ]
upstreams:
  - name: component
    dial: quic+plaintext://127.0.0.1:60072
  - name: far
    dial: quic://far.example:50072
    tls: { trust: workers }
";

struct Row {
    replace: &'static str,
    by: &'static str,
    says: &'static [&'static str],
}

const fn row(replace: &'static str, by: &'static str, says: &'static [&'static str]) -> Row {
    Row { replace, by, says }
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Keys.
    row("admin:", "admn:", &[
        "line 1: admn: the file has no key `admn`; expected one of `admin`, `log`, `development`, `workers`, `limits`, `timeouts`, `transport`, `reload`, `identities`, `trust`, `listeners`, `upstreams` (did you mean `admin`?)",
    ]),
    row("private_key", "private-key", &[
        "line 4: identities.edge.private-key: an identity has no key `private-key`; expected one of `certificate`, `private_key`, `bundle`, `expect` (did you mean `private_key`?)",
    ]),
    row("listen: quic://[::]:50072", "listen: quic://[::]:50072\n    alpn: [ h3 ]", &[
        "line 10: listeners[0].alpn: a listener has no key `alpn`; expected one of `name`, `listen`, `tls`, `unix`, `idle_timeout`, `routes` (its place is `listeners[].tls.alpn` or `upstreams[].tls.alpn`)",
    ]),
    row("    listen: quic://[::]:50072\n", "", &[
        "line 8: listeners[0]: a listener has no `listen`; expected `listen` (listen address)",
    ]),
    row("name: far\n", "name: far\n    name: other\n", &[
        "line 19: upstreams[1].name: the key `name` is written twice, first in line 18; expected each key once",
    ]),
    row("  workers: { bundle: ca.crt }", "  workers: ca.crt", &[
        "line 6: trust.workers: a single value stands here; expected a mapping with the keys `bundle`, `revocation_lists`, `revocation`, `on_contraction`",
    ]),
    row("  workers: { bundle: ca.crt }", "  workers: {}", &[
        "line 6: trust.workers: a trust bundle has no `bundle`; expected `bundle` (file path)",
    ]),
    row("  workers: { bundle: ca.crt }", "  workers:", &[
        "line 6: trust.workers: nothing stands here; expected a mapping with the keys `bundle`, `revocation_lists`, `revocation`, `on_contraction`",
    ]),
    row("routes: [ { upstream: component } ]", "routes: { upstream: component }", &[
        "line 11: listeners[0].routes: a mapping stands here; expected a list",
    ]),
    row("routes: [ { upstream: component } ]", "routes: []", &[
        "line 11: listeners[0].routes: there is no entry; expected 1 to 256 entries",
    ]),
    row("routes: [ { upstream: component } ]", "routes: [ component ]", &[
        "line 11: listeners[0].routes[0]: a single value stands here; expected a mapping with the keys `sni`, `client_auth`, `upstream`",
    ]),
    row("listen: http://127.0.0.1:9460", "listen: [ http://127.0.0.1:9460 ]", &[
        "line 2: admin.listen: a list stands here; expected a single value (http address)",
    ]),
    row("admin:\n  listen: http://127.0.0.1:9460", "admin: http://127.0.0.1:9460", &[
        "line 1: admin: a single value stands here; expected a mapping with the keys `listen`, `scrape`, `actions`",
    ]),
    // Scalars.
    row("admin:", "timeouts: { idle: 30 }\nadmin:", &[
        "line 1: timeouts.idle: `30` is no duration; expected a whole number with a unit: `500ms`, `10s`, `5m` or `1h` (did you mean `30s`?)",
    ]),
    row("admin:", "timeouts: { idle: 2h }\nadmin:", &[
        "line 1: timeouts.idle: 2h is too large; expected 1s to 1h",
    ]),
    row("admin:", "timeouts: { drain: 0s }\nadmin:", &[
        "line 1: timeouts.drain: 0s is too small; expected 10ms to 1h",
    ]),
    row("admin:", "timeouts: { drain: 1.5s }\nadmin:", &[
        "line 1: timeouts.drain: `1.5s` is no duration; expected a whole number with a unit: `500ms`, `10s`, `5m` or `1h`",
    ]),
    row("admin:", "limits: { stream_window: 1MB }\nadmin:", &[
        "line 1: limits.stream_window: `1MB` is no size; expected a whole number with a unit: `512B`, `64KiB`, `1MiB` or `1GiB` (did you mean `1MiB`?)",
    ]),
    row("admin:", "limits: { streams: 8 }\nadmin:", &[
        "line 1: limits.streams: 8 is too small; expected 32 to 65536",
    ]),
    row("admin:", "limits: { connections: many }\nadmin:", &[
        "line 1: limits.connections: `many` is no whole number; expected digits alone",
    ]),
    row("admin:", "log: { level: warning }\nadmin:", &[
        "line 1: log.level: `warning` is not a choice here; expected one of `error`, `warn`, `info`, `debug`, `trace` (did you mean `warn`?)",
    ]),
    row("admin:", "log: { format: yaml }\nadmin:", &[
        "line 1: log.format: `yaml` is not a choice here; expected one of `text`, `json`",
    ]),
    row("admin:", "transport: { segmentation_offload: off }\nadmin:", &[
        "line 1: transport.segmentation_offload: `off` is neither `true` nor `false`; expected `true` or `false` (did you mean `false`?)",
    ]),
    row("admin:", "workers: 0\nadmin:", &[
        "line 1: workers: 0 is too small; expected 1 to 256",
    ]),
    row("name: far", "name: Far_away", &[
        "line 14: listeners[1].routes[0].upstream: there is no upstream `far`; expected one of `component`",
        "line 18: upstreams[1].name: `Far_away` is no name; expected 1 to 63 of `a` to `z`, `0` to `9` and `-` (did you mean `far-away`?)",
    ]),
    row("certificate: tls.crt", "certificate: \"-----BEGIN PRIVATE KEY-----\\nMIIE\\n\"", &[
        "line 4: identities.edge.certificate: this is PEM, not the path of a file; expected the path of a PEM file",
    ]),
    row("certificate: tls.crt", "certificate: /etc/tls/", &[
        "line 4: identities.edge.certificate: this is the path of a directory; expected the path of a PEM file",
    ]),
    // Addresses.
    row("quic://[::]:50072", "\"[::]:50072\"", &[
        "line 9: listeners[0].listen: `[::]:50072` has no scheme; expected an address that begins with `quic://` or `tls://` or `quic+plaintext://` or `tcp://` or `unix:`",
    ]),
    row("quic://[::]:50072", "quick://[::]:50072", &[
        "line 9: listeners[0].listen: unknown scheme `quick://`; expected an address that begins with `quic://` or `tls://` or `quic+plaintext://` or `tcp://` or `unix:` (did you mean `quic://`?)",
    ]),
    row("quic://[::]:50072", "https://[::]:50072", &[
        "line 9: listeners[0].listen: unknown scheme `https://`; expected an address that begins with `quic://` or `tls://` or `quic+plaintext://` or `tcp://` or `unix:`",
    ]),
    row("quic://[::]:50072", "QUIC://[::]:50072", &[
        "line 9: listeners[0].listen: unknown scheme `QUIC://`; expected an address that begins with `quic://` or `tls://` or `quic+plaintext://` or `tcp://` or `unix:` (did you mean `quic://`?)",
    ]),
    row("quic://[::]:50072", "webtransport://[::]:4433", &[
        "line 9: listeners[0].listen: this build does not carry `webtransport://` yet; expected an address that begins with `quic://` or `tls://` or `quic+plaintext://` or `tcp://` or `unix:`",
    ]),
    row("quic+plaintext://127.0.0.1:60072", "webtransport+plaintext://127.0.0.1:1", &[
        "line 17: upstreams[0].dial: this build does not carry `webtransport+plaintext://` yet; expected an address that begins with `quic://` or `tls://` or `quic+plaintext://` or `tcp://` or `unix:`",
    ]),
    row("quic://[::]:50072", "quic://[::]", &[
        "line 9: listeners[0].listen: `[::]` is an address without a port; expected `quic://` with an IP address and a port, such as `quic://127.0.0.1:4433` or `quic://[::]:4433`",
    ]),
    row("quic://[::]:50072", "quic://:::50072", &[
        "line 9: listeners[0].listen: `:::50072` is no host and port (an IPv6 literal stands in brackets); expected `quic://` with an IP address and a port, such as `quic://127.0.0.1:4433` or `quic://[::]:4433`",
    ]),
    row("quic://[::]:50072", "quic://localhost:50072", &[
        "line 9: listeners[0].listen: `localhost` is a name; expected `quic://` with an IP address and a port, such as `quic://127.0.0.1:4433` or `quic://[::]:4433`",
    ]),
    row("quic://far.example:50072", "quic://far.example", &[
        "line 19: upstreams[1].dial: `far.example` is an address without a port; expected `quic://host:port`",
    ]),
    row("quic://far.example:50072", "quic://far.example:0", &[
        "line 19: upstreams[1].dial: `far.example:0` is an address with port 0; expected `quic://host:port`",
    ]),
    row("quic://far.example:50072", "quic://far.example:50072/path", &[
        "line 19: upstreams[1].dial: `far.example:50072/path` is more than host and port; expected `quic://host:port`",
    ]),
    row("quic://far.example:50072", "quic://user:secret@far.example:50072", &[
        "line 19: upstreams[1].dial: a text of 29 bytes (not shown) is an address with credentials; expected `quic://host:port`",
    ]),
    row("quic://far.example:50072", "quic://fd00::1:50072", &[
        "line 19: upstreams[1].dial: `fd00::1:50072` is no host and port (an IPv6 literal stands in brackets); expected `quic://host:port`",
    ]),
    row("quic://far.example:50072", "quic://requested:50072", &[
        "line 19: upstreams[1].dial: `requested` takes no port; expected `quic://requested` or `quic://host:port` (the component names host and port)",
    ]),
    row("http://127.0.0.1:9460", "127.0.0.1:9460", &[
        "line 2: admin.listen: `127.0.0.1:9460` has no scheme; expected `http://` with an IP address and a port",
    ]),
    row("http://127.0.0.1:9460", "https://127.0.0.1:9460", &[
        "line 2: admin.listen: the scheme is `https://`; expected `http://` with an IP address and a port",
    ]),
    row("http://127.0.0.1:9460", "http://0.0.0.0:9460", &[
        "line 2: admin.listen: `0.0.0.0` is not a loopback address; expected a loopback address (127.0.0.0/8 or ::1), or `development: { allow_remote_plaintext: true }` (what others may see is served by `admin.scrape`)",
    ]),
    row("admin:\n  listen: http://127.0.0.1:9460", "development: { allow_remote_plaintext: true }\nadmin:\n  listen: http://0.0.0.0:9460\n  actions: true", &[
        "line 3: admin.listen: `0.0.0.0` is open to others, and `actions` is on; expected a loopback address",
    ]),
    row("listen: http://127.0.0.1:9460", "scrape: http://127.0.0.1:9460\n  actions: true", &[
        "line 3: admin.actions: there is no `admin.listen` to take actions; expected `listen` beside it",
    ]),
    // Security is in the scheme.
    row("    tls: { identities: [ edge ] }\n", "", &[
        "line 8: listeners[0]: `quic://` carries TLS, and there is no `tls`; expected `tls: { ... }`",
    ]),
    row("    tls: { trust: workers }\n", "", &[
        "line 18: upstreams[1]: `quic://` carries TLS, and there is no `tls`; expected `tls: { ... }`",
    ]),
    row("dial: quic+plaintext://127.0.0.1:60072", "dial: quic+plaintext://127.0.0.1:60072\n    tls: { trust: workers }", &[
        "line 18: upstreams[0].tls: `quic+plaintext://` carries no TLS; expected no `tls`, or an address with `quic://`, `tls://`",
    ]),
    row("listen: quic+plaintext://127.0.0.1:50172", "listen: quic+plaintext://127.0.0.1:50172\n    tls: { identities: [ edge ] }", &[
        "line 14: listeners[1].tls: `quic+plaintext://` carries no TLS; expected no `tls`, or an address with `quic://`, `tls://`",
    ]),
    row("upstream: far", "upstream: component", &[
        "line 14: listeners[1].routes[0].upstream: plaintext leads to plaintext (`quic+plaintext://`); expected a secured upstream, or a secured listener",
    ]),
    row("quic+plaintext://127.0.0.1:50172", "quic+plaintext://[::]:50172", &[
        "line 13: listeners[1].listen: plaintext on `::`, which is not a loopback address; expected a loopback address (127.0.0.0/8 or ::1), or `development: { allow_remote_plaintext: true }`",
    ]),
    row("quic+plaintext://127.0.0.1:60072", "quic+plaintext://10.0.0.1:60072", &[
        "line 17: upstreams[0].dial: plaintext on `10.0.0.1`, which is not a loopback address; expected a loopback address (127.0.0.0/8 or ::1), or `development: { allow_remote_plaintext: true }`",
    ]),
    row("quic+plaintext://127.0.0.1:60072", "quic+plaintext://localhost:60072", &[
        "line 17: upstreams[0].dial: plaintext to `localhost`, a name; expected a loopback IP literal: 127.0.0.1 or [::1]",
    ]),
    row("tls: { trust: workers }", "tls: { verification: disabled }", &[
        "line 20: upstreams[1].tls.verification: peers are not verified; expected `trust`, or `development: { allow_unverified_peers: true }`",
    ]),
    row("tls: { trust: workers }", "tls: { server_name: far.example }", &[
        "line 20: upstreams[1].tls: no `trust` to judge peers by; expected `trust: <name of a trust bundle>`",
    ]),
    row("tls: { trust: workers }\n", "tls: { trust: workers, verification: disabled }\ndevelopment: { allow_unverified_peers: true }\n", &[
        "line 20: upstreams[1].tls.trust: `trust` has no meaning with `verification: disabled`; expected one of the two",
    ]),
    // References and names.
    row("identities: [ edge ]", "identities: [ egde ]", &[
        "line 10: listeners[0].tls.identities[0]: there is no identity `egde`; expected one of `edge` (did you mean `edge`?)",
    ]),
    row("identities: [ edge ]", "identities: []", &[
        "line 10: listeners[0].tls.identities: there is no entry; expected 1 to 64 entries",
    ]),
    row("identities: [ edge ]", "identities: [ edge, edge ]", &[
        "line 10: listeners[0].tls.identities[1]: `edge` stands here twice; expected each once",
    ]),
    row("trust: workers }", "trust: servers }", &[
        "line 20: upstreams[1].tls.trust: there is no trust bundle `servers`; expected one of `workers`",
    ]),
    row("upstream: component", "upstream: componant", &[
        "line 11: listeners[0].routes[0].upstream: there is no upstream `componant`; expected one of `component`, `far` (did you mean `component`?)",
    ]),
    row("name: egress", "name: ingress", &[
        "line 12: listeners[1].name: the name `ingress` is taken; expected a name that no other listener or upstream has",
    ]),
    row("name: egress", "name: far", &[
        "line 18: upstreams[1].name: the name `far` is taken; expected a name that no other listener or upstream has",
    ]),
    row("trust:\n  workers: { bundle: ca.crt }\n", "", &[
        "line 18: upstreams[1].tls.trust: there is no trust bundle `workers`; expected the name of one that the file defines, and it defines no trust bundle",
    ]),
    // Materials.
    row("edge: { certificate: tls.crt, private_key: tls.key }", "edge: { certificate: tls.crt }", &[
        "line 4: identities.edge: a `certificate` without its `private_key`; expected `certificate` and `private_key`, or `bundle` alone",
    ]),
    row("edge: { certificate: tls.crt, private_key: tls.key }", "edge: { private_key: tls.key }", &[
        "line 4: identities.edge: a `private_key` without its `certificate`; expected `certificate` and `private_key`, or `bundle` alone",
    ]),
    row("edge: { certificate: tls.crt, private_key: tls.key }", "edge: {}", &[
        "line 4: identities.edge: an identity without files; expected `certificate` and `private_key`, or `bundle` alone",
    ]),
    row("private_key: tls.key }", "private_key: tls.key, bundle: both.pem }", &[
        "line 4: identities.edge: a `bundle` and single files beside it; expected `certificate` and `private_key`, or `bundle` alone",
    ]),
    row("private_key: tls.key }", "private_key: tls.key, expect: { names: [ \"*\" ], chains_to: worker } }", &[
        "line 4: identities.edge.expect.chains_to: there is no trust bundle `worker`; expected one of `workers` (did you mean `workers`?)",
        "line 4: identities.edge.expect.names[0]: `*` is no DNS pattern; expected a DNS name, or `*.` and a DNS name",
    ]),
    row("bundle: ca.crt", "bundle: ca.crt, revocation: { expired: refuse, unknown: deny }", &[
        "line 6: trust.workers.revocation: `revocation` has no meaning without `revocation_lists`; expected both, or none of them",
        "line 6: trust.workers.revocation.unknown: `deny` is not a choice here; expected one of `accept`, `refuse`",
    ]),
    row("bundle: ca.crt", "bundle: ca.crt, on_contraction: { still_trusted: keep, spread: 5s }", &[
        "line 6: trust.workers.on_contraction.spread: `spread` has no meaning with `still_trusted: keep`; expected one of the two",
    ]),
    row("bundle: ca.crt", "bundle: ca.crt, on_contraction: { spread: 20s }", &[
        "line 6: trust.workers.on_contraction.spread: `poll` 10s, `debounce_max` 1s and `spread` 20s add up to 31s; expected at most 25s together, so that a contraction is over in 30s",
    ]),
    row("admin:", "reload: { poll: 16s }\nadmin:", &[
        "line 7: trust.workers: `poll` 16s, `debounce_max` 1s and `spread` 10s add up to 27s; expected at most 25s together, so that a contraction is over in 30s",
    ]),
    row("admin:", "reload: { poll: 20s, debounce_max: 6s }\nadmin:", &[
        "line 1: reload.poll: `poll` and `debounce_max` add up to 26s; expected at most 25s together",
    ]),
    row("admin:", "reload: { debounce: 2s }\nadmin:", &[
        "line 1: reload.debounce: `debounce` is 2s and `debounce_max` is 1s; expected `debounce` no longer than `debounce_max`",
    ]),
    row("admin:", "timeouts: { connect: 15s }\nadmin:", &[
        "line 1: timeouts.connect: `loopback_idle` is 15s and `connect` is 15s: a component would be given up while its peer is dialled; expected `loopback_idle` more than `connect`",
    ]),
    row("admin:", "timeouts: { keep_alive: 15s }\nadmin:", &[
        "line 1: timeouts.keep_alive: `keep_alive` is 15s and `idle` is 30s: one lost packet would end a quiet connection; expected `keep_alive` less than half of `idle`",
    ]),
    row("admin:", "timeouts: { idle: 20s }\nadmin:", &[
        "line 1: timeouts.idle: `keep_alive` is 10s and `idle` is 20s: one lost packet would end a quiet connection; expected `keep_alive` less than half of `idle`",
    ]),
    row("admin:", "limits: { streams: 65536, stream_window: 1MiB }\nadmin:", &[
        "line 1: limits.stream_window: 65536 streams of 1MiB each open a window of 64GiB; expected `streams` times `stream_window` at most 4GiB",
    ]),
    // Listeners and routes.
    row("identities: [ edge ]", "identities: [ edge ], alpn: [ h3, none, h3 ]", &[
        "line 10: listeners[0].tls.alpn[2]: `h3` stands here twice; expected each once",
    ]),
    row("identities: [ edge ]", "identities: [ edge ], alpn: [ \"h 3\" ]", &[
        "line 10: listeners[0].tls.alpn[0]: `h 3` is no application protocol; expected 1 to 255 visible ASCII characters such as `h3`, or `none` for peers that offer no protocol",
    ]),
    row("identities: [ edge ]", "identities: [ edge ], client_auth: { trust: workers, mode: mandatory }", &[
        "line 10: listeners[0].tls.client_auth.mode: `mandatory` is not a choice here; expected one of `required`, `optional`",
    ]),
    row("identities: [ edge ]", "identities: [ edge ], client_auth: { mode: required }", &[
        "line 10: listeners[0].tls.client_auth: client_auth has no `trust`; expected `trust` (name of a trust bundle)",
    ]),
    row("identities: [ edge ]", "identities: [ edge ], client_auth: { trust: workers, allow: {} }", &[
        "line 10: listeners[0].tls.client_auth.allow: `allow` names nobody; expected `dns` or `uri` or both",
    ]),
    row("identities: [ edge ]", "identities: [ edge ], client_auth: { trust: workers, allow: { dns: [], uri: [ \"spiffe://prod*\" ] } }", &[
        "line 10: listeners[0].tls.client_auth.allow.dns: there is no entry; expected 1 to 256 entries",
        "line 10: listeners[0].tls.client_auth.allow.uri[0]: `spiffe://prod*` is no URI pattern; expected a URI such as `spiffe://domain/workload`, or the beginning of one, up to some `/` at least, and `*`",
    ]),
    row("routes: [ { upstream: far } ]", "routes: [ { upstream: far, client_auth: { trust: workers } } ]", &[
        "line 14: listeners[1].routes[0].client_auth: client authentication needs TLS, and the listener is plaintext; expected no `client_auth`, or a secured listener",
    ]),
    row("routes: [ { upstream: component } ]", "routes: [ { upstream: component }, { sni: a.example, upstream: component } ]", &[
        "line 11: listeners[0].routes[1]: never reached: routes[0] takes everything that fits here; expected the wider route behind the narrower one, the one without `sni` last",
    ]),
    row("routes: [ { upstream: component } ]", "routes: [ { sni: \"*.example\", upstream: component }, { sni: a.example, upstream: component } ]", &[
        "line 11: listeners[0].routes[1]: never reached: routes[0] takes everything that fits here; expected the wider route behind the narrower one, the one without `sni` last",
    ]),
    row("quic+plaintext://127.0.0.1:50172", "quic+plaintext://127.0.0.1:50072", &[
        "line 13: listeners[1].listen: 127.0.0.1:50072 is taken: listeners[0].listen listens on [::]:50072; expected an address and port of its own for each listener",
    ]),
    // Requested destinations.
    row("quic://far.example:50072\n    tls: { trust: workers }", "quic://requested\n    tls: { trust: workers }", &[
        "line 18: upstreams[1]: a component may name the destination, and nothing says which; expected `allow: { destinations: [ ... ] }`",
        "line 20: upstreams[1].tls: no `server_name`, and no fixed host in `dial` to take it from; expected `server_name: requested`, or a fixed name",
    ]),
    row("quic://far.example:50072", "quic://requested\n    allow: { destinations: [] }", &[
        "line 20: upstreams[1].allow.destinations: there is no entry; expected 1 to 256 entries",
        "line 21: upstreams[1].tls: no `server_name`, and no fixed host in `dial` to take it from; expected `server_name: requested`, or a fixed name",
    ]),
    row("quic://far.example:50072", "quic://requested\n    allow: { destinations: [ \"10.0.0.1/8:*\", \"*.a.example:443\" ] }", &[
        "line 20: upstreams[1].allow.destinations[0]: `10.0.0.1/8:*` is no destination pattern; expected `10.0.0.0/8:*`, `[fd00::/8]:443`, `name:443` or `*.name:443`: a network without bits behind its prefix, or a name, and a port or `*`",
        "line 21: upstreams[1].tls: no `server_name`, and no fixed host in `dial` to take it from; expected `server_name: requested`, or a fixed name",
    ]),
    row("quic://far.example:50072", "quic://far.example:50072\n    allow: { destinations: [ \"10.0.0.0/8:*\" ] }", &[
        "line 20: upstreams[1].allow: `allow` is for destinations that a component asks for, and this one is fixed; expected `dial: quic://requested`, or no `allow`",
    ]),
    row("    dial: quic+plaintext://127.0.0.1:60072\n", "    dial: quic://requested\n    allow: { destinations: [ \"10.0.0.0/8:*\" ] }\n    tls: { trust: workers, server_name: requested }\n", &[
        "line 11: listeners[0].routes[0].upstream: a secured listener names no destination, and this upstream needs one; expected an upstream with a fixed `dial`, or a listener with `quic+plaintext://`",
    ]),
    row("quic+plaintext://127.0.0.1:60072", "unix:app.sock", &[
        "line 17: upstreams[0].dial: `app.sock` is no absolute path; expected `unix:/path/of.sock`, 107 bytes at the most",
    ]),
    row("quic+plaintext://127.0.0.1:60072", "tcp://10.0.0.1:60072", &[
        "line 17: upstreams[0].dial: plaintext on `10.0.0.1`, which is not a loopback address; expected a loopback address (127.0.0.0/8 or ::1), or `development: { allow_remote_plaintext: true }`",
    ]),
    row("quic+plaintext://127.0.0.1:50172", "tcp://127.0.0.1:50172\n    unix: { mode: 0600 }\n    tls: { identities: [ edge ] }", &[
        "line 14: listeners[1].unix: `tcp://` is no Unix socket; expected no `unix`, or `unix:/path`",
        "line 15: listeners[1].tls: `tcp://` carries no TLS; expected no `tls`, or an address with `quic://`, `tls://`",
    ]),
    row("quic+plaintext://127.0.0.1:50172", "unix:/run/iris.sock\n    unix: { mode: rw }", &[
        "line 14: listeners[1].unix.mode: `rw` is no mode; expected three octal digits, such as `\"0600\"`",
    ]),
    row("quic+plaintext://127.0.0.1:50172\n    routes: [ { upstream: far } ]", "tcp://127.0.0.1:50172\n    routes: [ { sni: a.example, upstream: far }, { upstream: component } ]", &[
        "line 14: listeners[1].routes[0].sni: nobody who comes by `tcp://` asks for a server name, so this never fits; expected one route, without `sni`",
        "line 14: listeners[1].routes[1].upstream: plaintext leads to plaintext (`quic+plaintext://`); expected a secured upstream, or a secured listener",
    ]),
    row("quic+plaintext://127.0.0.1:50172\n    routes: [ { upstream: far } ]\nupstreams:", "unix:/run/iris.sock\n    routes: [ { upstream: any } ]\nupstreams:\n  - { name: any, dial: \"quic://requested\", allow: { destinations: [ \"10.0.0.0/8:*\" ] }, tls: { trust: workers, server_name: requested } }", &[
        "line 14: listeners[1].routes[0].upstream: `unix:` asks for no server name, and this upstream passes one on; expected an upstream with a fixed `server_name`",
        "line 14: listeners[1].routes[0].upstream: `unix:` names no destination, and this upstream needs one; expected an upstream with a fixed `dial`, or a listener with `quic+plaintext://`",
    ]),
    row("listen: quic://[::]:50072", "listen: quic://[::]:50072\n    idle_timeout: 10s", &[
        "line 10: listeners[0].idle_timeout: `quic://` has an idle timeout of its own; expected `timeouts.idle`, which is for all of QUIC",
    ]),
    row("tls: { identities: [ edge ] }", "tls: { identities: [ edge ], versions: [ \"1.3\", \"1.2\" ], cipher_suites: [ TLS_AES_128_GCM_SHA256 ] }", &[
        "line 10: listeners[0].tls.cipher_suites: there is no suite for TLS 1.2; expected at least one for each of the `versions`",
        "line 10: listeners[0].tls.versions[1]: QUIC is TLS 1.3 (RFC 9001 section 4.2); expected `versions: [ \"1.3\" ]`, or none",
    ]),
    row("tls: { trust: workers }", "tls: { trust: workers, cipher_suites: [ TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 ], groups: [ x25519, x25519 ] }", &[
        "line 20: upstreams[1].tls.cipher_suites[1]: `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is for TLS 1.2; expected suites of the `versions` beside it",
        "line 20: upstreams[1].tls.groups[1]: `x25519` stands here twice; expected each once",
    ]),
    row("tls: { trust: workers }", "tls: { trust: workers, alpn: [ none ] }", &[
        "line 20: upstreams[1].tls.alpn[0]: `none` is no application protocol; expected no `alpn` at all, to offer nothing",
    ]),
    row("    tls: { trust: workers }", "    tls: { trust: workers }\n    proxy_protocol: v2", &[
        "line 21: upstreams[1].proxy_protocol: a header of the PROXY protocol is for a component, and `quic://` is none; expected an upstream with `tcp://` or `unix:`",
    ]),
    row("quic+plaintext://127.0.0.1:60072", "quic+plaintext://requested", &[
        "line 17: upstreams[0].dial: `quic+plaintext://` has no requested destination; expected `quic+plaintext://host:port` (only over `quic://` is dialled where the component says)",
    ]),
    row("upstreams:", "upstreams:\n  - { name: any, dial: \"quic://requested\", allow: { destinations: [ \"[::1]:*\" ] }, tls: { trust: workers, server_name: requested } }", &[
        "line 16: upstreams[0].dial: no listener leads here, so nobody can name a destination; expected a plaintext listener with a route to this upstream",
    ]),
    row("upstreams:\n  - name: component\n    dial: quic+plaintext://127.0.0.1:60072\n", "development: { allow_remote_plaintext: yes }\nupstreams:\n  - name: component\n    dial: quic+plaintext://10.0.0.1:60072\n", &[
        "line 15: development.allow_remote_plaintext: `yes` is neither `true` nor `false`; expected `true` or `false` (did you mean `true`?)",
    ]),
    row("tls: { trust: workers }", "tls: { verification: disabled }\ndevelopment: { allow_unverified_peer: true }", &[
        "line 21: development.allow_unverified_peer: development has no key `allow_unverified_peer`; expected one of `allow_remote_plaintext`, `allow_unverified_peers` (did you mean `allow_unverified_peers`?)",
    ]),
    // YAML.
    row("routes: [ { upstream: component } ]", "routes: [ { sni: *.example, upstream: component } ]", &[
        "line 11: listeners[0].routes[0].sni: not YAML: while parsing node, found unknown anchor (column 22); expected YAML 1.2 (a value that begins with `*` stands in quotes)",
    ]),
    row("  - name: component\n    dial: quic+plaintext://127.0.0.1:60072\n", "  - { name: component, dial: quic+plaintext://[::1]:60072 }\n", &[
        "line 16: upstreams[0]: not YAML: while parsing a flow mapping, did not find expected ',' or '}' (column 47); expected YAML 1.2 (between brackets or braces, a value that holds one of `[]{},` stands in quotes)",
    ]),
    row("bundle: ca.crt", "bundle: &ca ca.crt", &[
        "line 6: trust.workers.bundle: an anchor (`&name`) stands here; expected the value alone",
    ]),
    row("bundle: ca.crt", "bundle: *ca", &[
        "line 6: trust.workers.bundle: not YAML: while parsing node, found unknown anchor (column 22); expected YAML 1.2 (a value that begins with `*` stands in quotes)",
    ]),
    row("bundle: ca.crt", "bundle: !!str ca.crt", &[
        "line 6: trust.workers.bundle: a tag (`!name`) stands here; expected the value alone",
    ]),
    row("admin:", "---\nlog: {}\n---\nadmin:", &[
        "the file has no `listeners`; expected `listeners`: at least one listener",
        "the file has no `upstreams`; expected `upstreams`: at least one upstream",
        "line 3: a second YAML document begins here; expected one document a file",
    ]),
    row("{ bundle: ca.crt }", "{ bundle: ca.crt", &[
        "line 7: trust.workers: not YAML: while parsing a flow mapping, did not find expected ',' or '}' (column 10); expected YAML 1.2 (between brackets or braces, a value that holds one of `[]{},` stands in quotes)",
    ]),
    row("admin:", "? [ a ]\n: b\nadmin:", &[
        "line 1: a key is a list; expected a single word as key",
    ]),
];

#[test]
fn each_mistake_has_its_message() {
    for Row { replace, by, says } in ROWS {
        assert_eq!(BASE.matches(replace).count(), 1, "{replace} stands once in the base");
        let said: Vec<_> = match from_yaml(BASE.replace(replace, by)) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(said, *says, "{by}");
    }
}

#[test]
fn the_base_is_good() {
    from_yaml(BASE).unwrap_or_else(|problems| panic!("{problems}"));
}

#[test]
fn a_file_with_twelve_mistakes_lists_twelve() {
    let text = "\
admin: { listen: http://0.0.0.0:9460 }
log: { levl: debug }
timeouts: { idle: 30 }
identities:
  edge: { certificate: tls.crt }
trust:
  workers: { bundle: ca.crt, on_contraction: { spread: 20s } }
listeners:
  - name: ingress
    listen: quic://[::]:50072
    tls: { identities: [ egde ], alpn: [ h3, h3 ] }
    routes: [ { upstream: component }, { sni: a.example, upstream: component } ]
  - name: Egress
    listen: quic+plaintext://10.0.0.1:50172
    routes: [ { upstream: component } ]
upstreams:
  - name: component
    dial: 127.0.0.1:60072
  - name: far
    dial: quic://far.example:50072
";
    let problems = from_yaml(text).expect_err("a dozen mistakes");
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    let expected = [
        "admin.listen",
        "log.levl",
        "timeouts.idle",
        "identities.edge",
        "trust.workers.on_contraction.spread",
        "listeners[0].tls.alpn[1]",
        "listeners[0].tls.identities[0]",
        "listeners[0].routes[1]",
        "listeners[1].name",
        "listeners[1].listen",
        "upstreams[0].dial",
        "upstreams[1]",
    ];
    assert_eq!(paths, expected);
    assert_eq!(problems.len(), 12);
    assert!(problems.iter().all(|problem| problem.line.is_some() && !problem.expected.is_empty()));
    assert_eq!(problems.iter().nth(1).unwrap().hint.as_deref(), Some("did you mean `level`?"));
}

#[test]
fn a_file_that_says_nothing_lacks_what_every_file_needs() {
    for text in ["", "# nothing\n", "~", "{}", "\u{feff}{}", "---\n"] {
        let problems = from_yaml(text).expect_err("nothing to run");
        assert!(!problems.is_empty() && problems.len() <= 2, "{text:?}: {problems}");
    }
}

#[test]
fn a_key_pasted_into_the_file_is_never_repeated() {
    const SECRET: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
    for at in ["tls.crt", "tls.key", "ca.crt", "edge ]", "quic://[::]:50072", "workers }", "name: far", "  edge:"] {
        for with in [
            SECRET.to_owned(),
            SECRET[..30].to_owned(),
            format!("\"-----BEGIN PRIVATE KEY-----\\n{SECRET}\\n-----END PRIVATE KEY-----\""),
            format!("quic://admin:{}@host:1", &SECRET[..24]),
            format!("{SECRET}:"),
        ] {
            let with = if at.contains(']') { format!("{with} ]") } else { with };
            let with = if at.contains('}') { format!("{with} }}") } else { with };
            if let Err(problems) = from_yaml(BASE.replacen(at, &with, 1)) {
                let said = format!("{problems} {problems:?}");
                assert!(!said.contains(&SECRET[..20]), "{at} -> {with}: {said}");
            }
        }
    }
}

#[test]
fn more_mistakes_than_anyone_reads_are_counted() {
    let text = (0..1000).map(|n| format!("key{n}: 1\n")).collect::<String>();
    let problems = from_yaml(text).expect_err("a thousand unknown keys");
    assert_eq!(problems.len(), 1002);
    assert_eq!(problems.iter().count(), 256);
    assert!(problems.to_string().ends_with("\nand 746 more"));
}

#[test]
fn listeners_and_upstreams_are_few_enough_for_labels() {
    let with = |upstreams: usize| {
        let more: String = (0..upstreams)
            .map(|n| format!("  - {{ name: u{n}, dial: \"quic+plaintext://127.0.0.1:{}\" }}\n", n + 1))
            .collect();
        from_yaml(format!("{BASE}{more}"))
    };
    // Two listeners and two upstreams are there already.
    assert!(with(252).is_ok());
    let problems = with(253).expect_err("one too many");
    let line =
        "line 273: upstreams[254].name: listeners and upstreams are more than 256; expected at most 256 together";
    assert_eq!(problems.to_string(), line);
}
