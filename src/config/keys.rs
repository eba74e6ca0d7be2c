//! Every key that a file may hold: its type, its default, its bounds. The walk takes all three from here, and a test
//! compares `docs/configuration.md` with it.

use std::time::Duration;

use super::schema::{Key, Kind, Section};

const fn ms(value: u64) -> Duration {
    Duration::from_millis(value)
}

const fn s(value: u64) -> Duration {
    Duration::from_secs(value)
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * 1024;

/// Listeners and upstreams together: each is a `component` label.
pub const MAX_COMPONENTS: usize = 256;
/// The reserved word for "what the component asked for".
pub const REQUESTED: &str = "requested";

/// The whole file.
pub const FILE: Section = Section {
    title: "the file",
    keys: &[
        Key::new("admin", Kind::Section(&ADMIN)),
        Key::new("log", Kind::Section(&LOG)),
        Key::new("development", Kind::Section(&DEVELOPMENT)),
        Key::new("workers", Kind::Count { min: 1, max: 256 }).default("(one a CPU)"),
        Key::new("limits", Kind::Section(&LIMITS)),
        Key::new("timeouts", Kind::Section(&TIMEOUTS)),
        Key::new("transport", Kind::Section(&TRANSPORT)),
        Key::new("reload", Kind::Section(&RELOAD)),
        Key::new("identities", Kind::Named { section: &IDENTITY, max: 256 }),
        Key::new("trust", Kind::Named { section: &TRUST, max: 256 }),
        Key::new("listeners", Kind::Sections { section: &LISTENER, min: 1, max: MAX_COMPONENTS }).required(),
        Key::new("upstreams", Kind::Sections { section: &UPSTREAM, min: 1, max: MAX_COMPONENTS }).required(),
    ],
};

/// `admin`
pub const ADMIN: Section = Section {
    title: "admin",
    keys: &[
        Key::new("listen", Kind::Text("http address")),
        Key::new("scrape", Kind::Text("http address")),
        Key::new("actions", Kind::Flag).default("false"),
    ],
};

/// `log`
pub const LOG: Section = Section {
    title: "log",
    keys: &[
        Key::new("format", Kind::Choice(&["text", "json"])).default("text"),
        Key::new("level", Kind::Choice(&["error", "warn", "info", "debug", "trace"])).default("info"),
    ],
};

/// `development`
pub const DEVELOPMENT: Section = Section {
    title: "development",
    keys: &[
        Key::new("allow_remote_plaintext", Kind::Flag).default("false"),
        Key::new("allow_unverified_peers", Kind::Flag).default("false"),
    ],
};

/// `limits`
pub const LIMITS: Section = Section {
    title: "limits",
    keys: &[
        Key::new("connections", Kind::Count { min: 1, max: 1_000_000 }).default("10000"),
        Key::new("handshakes", Kind::Count { min: 1, max: 100_000 }).default("1000"),
        Key::new("streams", Kind::Count { min: 32, max: 65_536 }).default("1024"),
        Key::new("stream_window", Kind::Size { min: 16 * KIB, max: 16 * MIB }).default("256KiB"),
        Key::new("datagram_buffer", Kind::Size { min: 16 * KIB, max: 16 * MIB }).default("256KiB"),
    ],
};

/// `timeouts`
pub const TIMEOUTS: Section = Section {
    title: "timeouts",
    keys: &[
        Key::new("handshake", Kind::Duration { min: ms(10), max: s(300) }).default("10s"),
        Key::new("connect", Kind::Duration { min: ms(10), max: s(300) }).default("10s"),
        Key::new("idle", Kind::Duration { min: s(1), max: s(3600) }).default("30s"),
        Key::new("keep_alive", Kind::Duration { min: ms(100), max: s(1800) }).default("10s"),
        Key::new("loopback_idle", Kind::Duration { min: ms(100), max: s(3600) }).default("15s"),
        Key::new("close_grace", Kind::Duration { min: ms(0), max: s(60) }).default("3s"),
        Key::new("drain", Kind::Duration { min: ms(10), max: s(3600) }).default("30s"),
    ],
};

/// `transport`
pub const TRANSPORT: Section = Section {
    title: "transport",
    keys: &[
        Key::new("segmentation_offload", Kind::Flag).default("true"),
        Key::new("socket_buffer", Kind::Size { min: 64 * KIB, max: 64 * MIB }).default("2MiB"),
        Key::new("tcp_keep_alive", Kind::Duration { min: s(1), max: s(7200) }).default("30s"),
    ],
};

/// `reload`
pub const RELOAD: Section = Section {
    title: "reload",
    keys: &[
        Key::new("poll", Kind::Duration { min: ms(100), max: s(25) }).default("10s"),
        Key::new("debounce", Kind::Duration { min: ms(0), max: s(10) }).default("100ms"),
        Key::new("debounce_max", Kind::Duration { min: ms(0), max: s(10) }).default("1s"),
    ],
};

/// One of `identities`
pub const IDENTITY: Section = Section {
    title: "an identity",
    keys: &[
        Key::new("certificate", Kind::Text("file path")),
        Key::new("private_key", Kind::Text("file path")),
        Key::new("bundle", Kind::Text("file path")),
        Key::new("expect", Kind::Section(&EXPECT)),
    ],
};

/// `expect` of an identity
pub const EXPECT: Section = Section {
    title: "expect",
    keys: &[
        Key::new("names", Kind::List { of: "DNS pattern", min: 1, max: 256 }),
        Key::new("chains_to", Kind::Text("name of a trust bundle")),
    ],
};

/// One of `trust`
pub const TRUST: Section = Section {
    title: "a trust bundle",
    keys: &[
        Key::new("bundle", Kind::Text("file path")).required(),
        Key::new("revocation_lists", Kind::List { of: "file path", min: 0, max: 16 }).default("[]"),
        Key::new("revocation", Kind::Section(&REVOCATION)),
        Key::new("on_contraction", Kind::Section(&ON_CONTRACTION)),
    ],
};

/// `revocation` of a trust bundle
pub const REVOCATION: Section = Section {
    title: "revocation",
    keys: &[
        Key::new("expired", Kind::Choice(&["use", "refuse"])).default("use"),
        Key::new("depth", Kind::Choice(&["chain", "leaf"])).default("chain"),
        Key::new("unknown", Kind::Choice(&["accept", "refuse"])).default("accept"),
    ],
};

/// `on_contraction` of a trust bundle
pub const ON_CONTRACTION: Section = Section {
    title: "on_contraction",
    keys: &[
        Key::new("still_trusted", Kind::Choice(&["recycle", "keep"])).default("recycle"),
        Key::new("spread", Kind::Duration { min: ms(0), max: s(25) }).default("10s"),
    ],
};

/// One of `listeners`
pub const LISTENER: Section = Section {
    title: "a listener",
    keys: &[
        Key::new("name", Kind::Text("name")).required(),
        Key::new("listen", Kind::Text("listen address")).required(),
        Key::new("tls", Kind::Section(&LISTENER_TLS)),
        Key::new("unix", Kind::Section(&UNIX)),
        Key::new("idle_timeout", Kind::Duration { min: ms(100), max: s(86_400) }),
        Key::new("routes", Kind::Sections { section: &ROUTE, min: 1, max: 256 }).required(),
    ],
};

/// `unix` of a listener
pub const UNIX: Section =
    Section { title: "unix of a listener", keys: &[Key::new("mode", Kind::Text("mode")).default("\"0600\"")] };

/// `tls` of a listener
pub const LISTENER_TLS: Section = Section {
    title: "tls of a listener",
    keys: &[
        Key::new("identities", Kind::List { of: "name of an identity", min: 1, max: 64 }).required(),
        Key::new("alpn", Kind::List { of: "application protocol or `none`", min: 0, max: 16 }).default("[]"),
        Key::new("client_auth", Kind::Section(&CLIENT_AUTH)),
        VERSIONS,
        CIPHER_SUITES,
        GROUPS,
    ],
};

const VERSIONS: Key = Key::new("versions", Kind::List { of: "TLS version", min: 1, max: 2 }).default("[ \"1.3\" ]");
const CIPHER_SUITES: Key =
    Key::new("cipher_suites", Kind::List { of: "cipher suite", min: 1, max: 16 }).default("(all of the versions)");
const GROUPS: Key = Key::new("groups", Kind::List { of: "group", min: 1, max: 8 }).default("(all)");

/// `client_auth` of a listener or a route
pub const CLIENT_AUTH: Section = Section {
    title: "client_auth",
    keys: &[
        Key::new("trust", Kind::Text("name of a trust bundle")).required(),
        Key::new("mode", Kind::Choice(&["required", "optional"])).default("required"),
        Key::new("allow", Kind::Section(&ALLOW_NAMES)),
    ],
};

/// `allow` of a `client_auth`
pub const ALLOW_NAMES: Section = Section {
    title: "allow of client_auth",
    keys: &[
        Key::new("dns", Kind::List { of: "DNS pattern", min: 1, max: 256 }),
        Key::new("uri", Kind::List { of: "URI pattern", min: 1, max: 256 }),
    ],
};

/// One of a listener's `routes`
pub const ROUTE: Section = Section {
    title: "a route",
    keys: &[
        Key::new("sni", Kind::Text("DNS pattern")),
        Key::new("client_auth", Kind::Section(&CLIENT_AUTH)),
        Key::new("upstream", Kind::Text("name of an upstream")).required(),
    ],
};

/// One of `upstreams`
pub const UPSTREAM: Section = Section {
    title: "an upstream",
    keys: &[
        Key::new("name", Kind::Text("name")).required(),
        Key::new("dial", Kind::Text("dial address")).required(),
        Key::new("allow", Kind::Section(&ALLOW_DESTINATIONS)),
        Key::new("tls", Kind::Section(&UPSTREAM_TLS)),
        Key::new("proxy_protocol", Kind::Choice(&["none", "v2"])).default("none"),
    ],
};

/// `allow` of an upstream
pub const ALLOW_DESTINATIONS: Section = Section {
    title: "allow of an upstream",
    keys: &[Key::new("destinations", Kind::List { of: "destination pattern", min: 1, max: 256 }).required()],
};

/// `tls` of an upstream
pub const UPSTREAM_TLS: Section = Section {
    title: "tls of an upstream",
    keys: &[
        Key::new("trust", Kind::Text("name of a trust bundle")),
        Key::new("verification", Kind::Choice(&["full", "disabled"])).default("full"),
        Key::new("server_name", Kind::Text("server name or `requested`")).default("(the host of `dial`)"),
        Key::new("identity", Kind::Text("name of an identity")),
        Key::new("alpn", Kind::List { of: "application protocol", min: 1, max: 16 })
            .default("(what the other side agreed on)"),
        VERSIONS,
        CIPHER_SUITES,
        GROUPS,
    ],
};
