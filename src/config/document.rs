//! The document: a whole file, exactly as written.

use super::{
    field::{Field, Located},
    keys,
    problem::{Problems, Sink, Spot},
    section::{
        listener::{self, Listener},
        material::{self, Identity, Trust},
        settings::{self, Admin, Development, Limits, Log, Reload, Timeouts, Transport},
        upstream::{self, Upstream},
    },
    walk::{At, Fields},
    yaml,
};

/// A whole file, exactly as written. What it leaves out is absent here; what could not be read is invalid, and among
/// the problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The operator's HTTP.
    pub admin: Field<Admin>,
    /// Log format and level.
    pub log: Field<Log>,
    /// What no production system should allow.
    pub development: Field<Development>,
    /// Worker threads.
    pub workers: Field<u64>,
    /// Bounds.
    pub limits: Field<Limits>,
    /// Times.
    pub timeouts: Field<Timeouts>,
    /// QUIC.
    pub transport: Field<Transport>,
    /// How changed files are found.
    pub reload: Field<Reload>,
    /// Identities by name.
    pub identities: Field<Vec<(String, Field<Identity>)>>,
    /// Trust bundles by name.
    pub trust: Field<Vec<(String, Field<Trust>)>>,
    /// Listeners.
    pub listeners: Field<Vec<Located<Listener>>>,
    /// Upstreams.
    pub upstreams: Field<Vec<Located<Upstream>>>,
    /// Everything that is wrong with the file so far.
    pub problems: Problems,
}

/// Reads a file. Never fails: what is wrong with it is in [`Document::problems`]. Any bytes will do.
pub fn parse(bytes: &[u8]) -> Document {
    let sink = Sink::default();
    let root = yaml::read(bytes, &sink);
    let fields = Fields::open(At { node: &root, spot: Spot::default(), sink: &sink }, &keys::FILE);
    let document = Document {
        admin: fields.section("admin", settings::admin),
        log: fields.section("log", settings::log),
        development: fields.section("development", settings::development),
        workers: fields.count("workers"),
        limits: fields.section("limits", settings::limits),
        timeouts: fields.section("timeouts", settings::timeouts),
        transport: fields.section("transport", settings::transport),
        reload: fields.section("reload", settings::reload),
        identities: fields.named("identities", material::identity),
        trust: fields.named("trust", material::trust),
        listeners: fields.sections("listeners", listener::listener),
        upstreams: fields.sections("upstreams", upstream::upstream),
        problems: Problems::default(),
    };
    Document { problems: sink.finish(), ..document }
}
