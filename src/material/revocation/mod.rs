//! Revocation lists (RFC 5280 section 5) beside a trust bundle: each signed by the key of one of its anchors, so that
//! no signature needs to be verified again when a peer comes. Pure: bytes, bundle, predecessor and the time go in.
//!
//! Nothing depends on the order of files or lists. Of several lists of one issuer all serials count, and the one that is
//! good for longest says when the issuer's lists are over.

mod list;
mod succession;
#[cfg(test)]
mod tests;

pub use list::RevocationList;

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    pem::{self, Block, Label},
    reason::{Fault, Reason, Warning},
    trust::{Anchor, TrustBundle},
};
use crate::plan::{ExpiredLists, RevocationDepth, RevocationPolicy, UnknownStatus};
use list::{Found, LeftOut};

/// Lists beside one bundle, in all its files.
const LISTS_LIMIT: usize = 64;
/// Serials in them together.
const SERIALS_LIMIT: usize = 100_000;

/// The lists beside one bundle.
#[derive(Debug, Clone)]
pub struct RevocationLists {
    /// In the order of the files.
    pub lists: Vec<Arc<RevocationList>>,
    /// How they are used.
    pub policy: RevocationPolicy,
    /// The earliest moment at which the lists of an issuer are over.
    pub next_update: SystemTime,
    /// What is odd about them.
    pub warnings: Vec<Warning>,
    /// As of when it is settled which of them are over.
    as_of: SystemTime,
}

/// What the lists say of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Its issuer has a list, and none names it.
    Good,
    /// A list of its issuer names it.
    Revoked,
    /// None names it, but all lists of its issuer are over, and that is not to be tolerated.
    Over {
        /// Since when.
        next_update: SystemTime,
    },
    /// Its issuer has no list.
    Unknown,
}

impl RevocationLists {
    /// Whether `successor` refuses somebody whom `self` did not: it names one more serial, or an issuer's lists are over
    /// whose were not.
    pub fn contracts_to(&self, successor: &Self) -> bool {
        let named = |list: &RevocationList, serial: &[u8]| self.of_the_issuer_of(list).any(|own| own.names(serial));
        let is_over_now = |list: &RevocationList| {
            successor.is_over(list, successor.as_of)
                && self.of_the_issuer_of(list).next().is_some()
                && !self.is_over(list, self.as_of)
        };
        let is_gone = |list: &RevocationList| {
            self.policy.unknown == UnknownStatus::Refuse && successor.of_the_issuer_of(list).next().is_none()
        };
        successor.lists.iter().any(|list| is_over_now(list) || !list.serials().all(|serial| named(list, serial)))
            || self.lists.iter().any(|list| is_gone(list))
    }

    /// Whether `other` holds the same lists, in whatever order.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let holds = |all: &Self, one: &RevocationList| all.lists.iter().any(|list| list.digest == one.digest);
        self.lists.iter().all(|list| holds(other, list)) && other.lists.iter().all(|list| holds(self, list))
    }

    /// Whether other lists are over at `now` than when that was settled last, where it matters.
    pub fn is_stale(&self, now: SystemTime) -> bool {
        self.lists.iter().any(|list| self.is_over(list, now) != self.is_over(list, self.as_of))
    }

    /// The same, with what is over settled as of `now`.
    #[must_use]
    pub fn as_of(&self, now: SystemTime) -> Self {
        let mut settled = Self { as_of: now, ..self.clone() };
        settled.warnings.retain(|warning| *warning != Warning::CrlExpired);
        if settled.next_update <= now {
            settled.warnings.insert(0, Warning::CrlExpired);
        }
        settled
    }

    /// From when on nobody can pass any more whose chain reaches an anchor of `trust`. `None`: somebody always can.
    pub fn shuts_out_all_from(&self, trust: &TrustBundle) -> Option<SystemTime> {
        let RevocationPolicy { expired, depth, unknown } = self.policy;
        // Who stands below an intermediate without a list passes whatever becomes of the anchors' lists.
        if trust.anchors.is_empty() || (depth == RevocationDepth::Leaf && unknown == UnknownStatus::Accept) {
            return None;
        }
        let end = |anchor: &Anchor| match self.end_of(|list| list.is_of(anchor)) {
            Some(end) => (expired == ExpiredLists::Refuse).then_some(end),
            None => (unknown == UnknownStatus::Refuse).then_some(UNIX_EPOCH),
        };
        trust.anchors.iter().map(end).try_fold(UNIX_EPOCH, |last, end| Some(last.max(end?)))
    }

    /// What is known at `now` of the certificate with this `serial` (contents), whose issuer has this name and key
    /// (contents of both).
    pub(crate) fn status(&self, issuer: (&[u8], &[u8]), serial: &[u8], now: SystemTime) -> Status {
        let mut known = self.lists.iter().filter(|list| list.issuer() == issuer).peekable();
        let Some(list) = known.peek().copied() else { return Status::Unknown };
        if known.any(|list| list.revokes(serial)) {
            Status::Revoked
        } else if self.is_over(list, now) {
            Status::Over { next_update: self.end_of(|other| other.issuer() == issuer).unwrap_or(now) }
        } else {
            Status::Good
        }
    }

    /// Whether some list names `serial` (contents), whoever's: a hint, far cheaper than a verdict.
    pub(crate) fn mentions(&self, serial: &[u8]) -> bool {
        self.lists.iter().any(|list| list.names(serial))
    }

    fn of_the_issuer_of(&self, list: &RevocationList) -> impl Iterator<Item = &Arc<RevocationList>> {
        self.lists.iter().filter(|own| own.issuer() == list.issuer())
    }

    /// Whether the lists of an issuer are over at `now`, and that is not to be tolerated. From the very second on: verdicts
    /// are reached as of whole ones, and one that comes after a contraction must not fall before it.
    fn is_over(&self, list: &RevocationList, now: SystemTime) -> bool {
        self.policy.expired == ExpiredLists::Refuse
            && self.end_of(|other| other.issuer() == list.issuer()).is_some_and(|end| end <= now)
    }

    /// When the last of some lists is over.
    fn end_of(&self, which: impl Fn(&RevocationList) -> bool) -> Option<SystemTime> {
        self.lists.iter().filter(|list| which(list)).map(|list| list.next_update).max()
    }
}

/// Builds the lists of some files, or says why these make none: which file, and what is wrong with it. They stand and fall
/// together, and follow on `predecessor`, which they must not undo.
pub fn build(
    files: &[&[u8]],
    trust: &TrustBundle,
    policy: RevocationPolicy,
    predecessor: Option<&RevocationLists>,
    now: SystemTime,
) -> Result<RevocationLists, (usize, Fault)> {
    let (mut lists, mut left_out) = (Vec::new(), Vec::new());
    let (mut count, mut serials) = (0, 0);
    for (position, bytes) in files.iter().enumerate() {
        for block in blocks(bytes).map_err(|fault| (position, fault))? {
            count += 1;
            let found = if count > LISTS_LIMIT {
                Err(Fault::new(Reason::CrlTooLarge, format!("more than {LISTS_LIMIT} lists beside one bundle")))
            } else {
                list::read(&block.content, position, trust, now)
            };
            let place =
                |fault: Fault| Fault { detail: format!("list of line {}: {}", block.line, fault.detail), ..fault };
            match found.map_err(|fault| (position, place(fault)))? {
                Found::List(list) => {
                    serials += list.entries;
                    lists.push(Arc::new(*list));
                }
                Found::LeftOut(LeftOut { issuer, fault }) => left_out.push((position, issuer, place(fault))),
            }
            if serials > SERIALS_LIMIT {
                let detail = format!("more than {SERIALS_LIMIT} serials in the lists beside one bundle");
                return Err((position, Fault::new(Reason::CrlTooLarge, detail)));
            }
        }
    }
    check_left_out(&lists, &left_out, trust)?;
    if let Some(predecessor) = predecessor {
        succession::check(predecessor, &lists, trust)?;
    }
    finish(lists, !left_out.is_empty(), trust, policy, now)
}

/// The blocks of a file, every one a list.
fn blocks(bytes: &[u8]) -> Result<Vec<Block>, Fault> {
    let blocks = pem::read(bytes)?;
    if !blocks.iter().any(|block| block.label == Label::Crl) {
        let labels: Vec<&str> = blocks.iter().map(|block| block.label.name()).collect();
        let detail = match labels.as_slice() {
            [] => "text without any PEM block".to_owned(),
            labels => format!("expected X509 CRL blocks; the blocks are {}", labels.join(", ")),
        };
        return Err(Fault::new(Reason::NoCrl, detail));
    }
    if let Some(stranger) = blocks.iter().find(|block| block.label != Label::Crl) {
        let detail = format!("a block {} in line {} has no business here", stranger.label.name(), stranger.line);
        return Err(Fault::new(Reason::UnexpectedBlock, detail));
    }
    Ok(blocks)
}

/// Lists may be left out when that refuses nobody less: those of strangers beside others, so that a CA that was taken out
/// of the bundle does not hold up its neighbours' revocations; and those of an anchor's former key, when the anchor has a
/// list of its own.
fn check_left_out(
    lists: &[Arc<RevocationList>],
    left_out: &[(usize, Vec<u8>, Fault)],
    trust: &TrustBundle,
) -> Result<(), (usize, Fault)> {
    for (position, issuer, fault) in left_out {
        let mut namesakes = trust.anchors.iter().filter(|anchor| anchor.subject == *issuer);
        let replaced = namesakes.all(|anchor| lists.iter().any(|list| list.is_of(anchor)));
        if lists.is_empty() || !replaced {
            return Err((*position, fault.clone()));
        }
    }
    Ok(())
}

fn finish(
    lists: Vec<Arc<RevocationList>>,
    left_out: bool,
    trust: &TrustBundle,
    policy: RevocationPolicy,
    now: SystemTime,
) -> Result<RevocationLists, (usize, Fault)> {
    let mut warnings = Vec::new();
    if !trust.anchors.iter().all(|anchor| lists.iter().any(|list| list.is_of(anchor))) {
        warnings.push(Warning::CrlIncomplete);
    }
    if left_out {
        warnings.push(Warning::CrlLeftOut);
    }
    let mut made = RevocationLists { lists, policy, next_update: now, warnings, as_of: now };
    let ends = made.lists.iter().filter_map(|list| made.end_of(|other| other.issuer() == list.issuer()));
    made.next_update = ends.min().ok_or_else(|| (0, Fault::new(Reason::NoCrl, "no file")))?;
    Ok(made.as_of(now))
}
