//! Whether a connection that was believed still would be.

use std::{
    collections::{HashMap, hash_map::Entry},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustls::pki_types::UnixTime;

use super::Connection;
use crate::{
    material::{Authority, validity},
    observe::{Side, labels::HandshakeFailure},
    plan::{ListenerId, NamePatterns, TrustId},
    tls::{Chain, Configs, Judged},
};

/// What has become of the trust in one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It would be believed, were it to come now.
    Trusted,
    /// Its issuer is still trusted. Its own certificate has ended since its handshake.
    Over,
    /// It is not believed any more.
    Untrusted(HandshakeFailure),
}

/// One side of a connection that was judged under fewer contractions than there have been since.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) trust: TrustId,
    pub(super) authority: &'a Authority,
    pub(super) judged: &'a Judged,
    asked_of: AskedOf<'a>,
}

#[derive(Debug, Clone, Copy)]
enum AskedOf<'a> {
    Client { route: (ListenerId, usize), allow: Option<&'a NamePatterns> },
    Server,
}

impl<'a> Question<'a> {
    /// The question that one side of a connection raises under `configs`. `None` when it needs no judging: nobody was
    /// judged, or under as many contractions. A role that has no authority at the moment lets nobody new in and condemns
    /// nobody: the question comes back when it has one.
    pub(super) fn of(connection: &'a Connection, side: Side, configs: &'a Configs) -> Option<Self> {
        let footing = connection.footing(side)?;
        let (trust, judged) = (footing.standing.trust?.0, footing.judged.as_ref()?);
        let (authority, asked_of) = match side {
            Side::Accepted | Side::Both => {
                let route = (connection.listener, connection.route);
                let (authority, allow) = configs.listener(connection.listener)?.client_auth(connection.route)?;
                (authority, AskedOf::Client { route, allow })
            }
            Side::Dialled => (configs.upstream(connection.upstream)?.authority()?, AskedOf::Server),
        };
        let stale = footing.judged_under() < authority.contractions();
        stale.then_some(Self { trust, authority, judged, asked_of })
    }

    /// The answer, worked out. About 0.1 ms for a P-256 chain of three, four times that for P-384.
    pub(super) fn answer(&self, now: SystemTime) -> Verdict {
        self.answer_with(&Validity::of(&self.judged.chain), now)
    }

    fn answer_with(&self, validity: &Validity, now: SystemTime) -> Verdict {
        let judged = match self.asked_of {
            AskedOf::Client { allow, .. } => self.judged.judge_client(self.authority, allow, unix(now)),
            AskedOf::Server => self.judged.judge_server(self.authority, unix(now)),
        };
        match judged {
            Err(why) => Verdict::Untrusted(why),
            Ok(()) if validity.leaf_ends < now => Verdict::Over,
            Ok(()) => Verdict::Trusted,
        }
    }

    fn role(&self) -> Option<(ListenerId, usize)> {
        match self.asked_of {
            AskedOf::Client { route, .. } => Some(route),
            AskedOf::Server => None,
        }
    }
}

/// Answers of one sweep, so that peers with many connections are judged once.
#[derive(Debug)]
pub(super) struct Memory {
    now: SystemTime,
    validities: HashMap<Chain, Validity>,
    answers: HashMap<Key, Verdict>,
    worked_out: usize,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    chain: Chain,
    trust: TrustId,
    /// `None`: dialled. Routes differ in the names that they allow.
    role: Option<(ListenerId, usize)>,
    /// The time of the handshake, where the answer may depend on it.
    at: Option<u64>,
}

impl Memory {
    /// Remembers nothing yet; answers are as of `now`.
    pub(super) fn new(now: SystemTime) -> Self {
        Self { now, validities: HashMap::new(), answers: HashMap::new(), worked_out: 0 }
    }

    /// The answer to a question, and whether it was worked out for this one. `configs` must be the same for all.
    pub(super) fn answer(&mut self, question: &Question<'_>) -> Verdict {
        let judged = question.judged;
        let validity = *self.validities.entry(judged.chain.clone()).or_insert_with_key(Validity::of);
        let at = (!validity.covers(judged.at)).then(|| judged.at.as_secs());
        let key = Key { chain: judged.chain.clone(), trust: question.trust, role: question.role(), at };
        match self.answers.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                self.worked_out += 1;
                *unknown.insert(question.answer_with(&validity, self.now))
            }
        }
    }

    /// How many answers were worked out.
    pub(super) fn worked_out(&self) -> usize {
        self.worked_out
    }
}

/// When a chain is valid.
#[derive(Debug, Clone, Copy)]
struct Validity {
    /// When all of its certificates are: every handshake in this time has the same answer.
    whole: Option<(SystemTime, SystemTime)>,
    leaf_ends: SystemTime,
}

impl Validity {
    fn of(chain: &Chain) -> Self {
        let mut ranges = chain.iter().map(validity);
        // A leaf that was believed once can be read.
        let leaf = ranges.next().flatten();
        let whole = ranges.fold(leaf, |whole, range| {
            let ((from, to), (begins, ends)) = (whole?, range?);
            Some((from.max(begins), to.min(ends)))
        });
        Self { whole, leaf_ends: leaf.map_or(UNIX_EPOCH, |(_, ends)| ends) }
    }

    fn covers(&self, at: UnixTime) -> bool {
        let at = UNIX_EPOCH + Duration::from_secs(at.as_secs());
        self.whole.is_some_and(|(from, to)| from <= at && at <= to)
    }
}

fn unix(time: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}
