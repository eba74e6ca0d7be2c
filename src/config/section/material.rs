//! Identities and trust bundles.

use std::{path::PathBuf, time::Duration};

use crate::config::{
    field::{Field, Located},
    scalar::{
        path,
        pattern::{self, DnsPattern},
        word,
    },
    walk::Fields,
};

/// One of `identities`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// PEM chain, leaf first.
    pub certificate: Field<PathBuf>,
    /// PEM private key.
    pub private_key: Field<PathBuf>,
    /// Both in one PEM file.
    pub bundle: Field<PathBuf>,
    /// What a replacement must satisfy.
    pub expect: Field<Expect>,
}

/// `expect` of an identity
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    /// Names that the leaf must cover.
    pub names: Field<Vec<Located<DnsPattern>>>,
    /// A trust bundle, by name, that the chain must reach.
    pub chains_to: Field<String>,
}

/// One of `trust`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// PEM file of the anchors.
    pub bundle: Field<PathBuf>,
    /// PEM files of revocation lists.
    pub revocation_lists: Field<Vec<Located<PathBuf>>>,
    /// How the lists are used.
    pub revocation: Field<Revocation>,
    /// What becomes of live connections.
    pub on_contraction: Field<OnContraction>,
}

/// `revocation` of a trust bundle
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// What a list past its next update is good for.
    pub expired: Field<ExpiredLists>,
    /// Which certificates of a chain are looked for in lists.
    pub depth: Field<RevocationDepth>,
    /// What becomes of a certificate whose issuer has no list.
    pub unknown: Field<UnknownStatus>,
}

/// `on_contraction` of a trust bundle
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnContraction {
    /// Of those that are still trusted.
    pub still_trusted: Field<StillTrusted>,
    /// The window of a recycle.
    pub spread: Field<Duration>,
}

/// What a revocation list past its next update is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiredLists {
    /// What it names stays refused.
    Use,
    /// Everybody of its issuer is refused.
    Refuse,
}

/// Which certificates of a chain are looked for in revocation lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevocationDepth {
    /// All below the anchor.
    Chain,
    /// The first.
    Leaf,
}

/// What becomes of a certificate whose issuer has no revocation list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownStatus {
    /// It passes.
    Accept,
    /// It is refused.
    Refuse,
}

/// What becomes of connections that are still trusted after a contraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StillTrusted {
    /// They are closed, and made again under the new generation.
    Recycle,
    /// They stay.
    Keep,
}

pub(in crate::config) fn identity(fields: &Fields<'_>) -> Identity {
    Identity {
        certificate: fields.text("certificate", path::parse),
        private_key: fields.text("private_key", path::parse),
        bundle: fields.text("bundle", path::parse),
        expect: fields.section("expect", |fields| Expect {
            names: fields.list("names", pattern::dns),
            chains_to: fields.text("chains_to", word::name),
        }),
    }
}

pub(in crate::config) fn trust(fields: &Fields<'_>) -> Trust {
    Trust {
        bundle: fields.text("bundle", path::parse),
        revocation_lists: fields.list("revocation_lists", path::parse),
        revocation: fields.section("revocation", |fields| Revocation {
            expired: fields.choice("expired", &[ExpiredLists::Use, ExpiredLists::Refuse]),
            depth: fields.choice("depth", &[RevocationDepth::Chain, RevocationDepth::Leaf]),
            unknown: fields.choice("unknown", &[UnknownStatus::Accept, UnknownStatus::Refuse]),
        }),
        on_contraction: fields.section("on_contraction", |fields| OnContraction {
            still_trusted: fields.choice("still_trusted", &[StillTrusted::Recycle, StillTrusted::Keep]),
            spread: fields.duration("spread"),
        }),
    }
}
