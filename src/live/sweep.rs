//! One look at all live connections after a publication: who is still believed, and what becomes of whom.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::{
    Connection, Order,
    judge::{Memory, Question, Verdict},
    pacer::{Batch, Pacer, window},
};
use crate::{
    material::Casualties,
    observe::{Component, Observer, PendingRecycle, Side, labels::HandshakeFailure},
    plan::{Plan, StillTrusted, TrustId},
    tls::Configs,
};

/// The window for those whose own certificate is over, where the file keeps all who are still trusted: they are not.
const WINDOW_OF_THE_ENDED: Duration = Duration::from_secs(10);

/// What a sweep needs.
pub(super) struct Sweep<'a> {
    pub(super) plan: &'a Plan,
    pub(super) observer: &'a Observer,
    pub(super) pacer: &'a Pacer,
    /// What was published.
    pub(super) configs: &'a Configs,
    /// When.
    pub(super) published: Instant,
}

/// What became of the connections of one trust bundle.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) judged: usize,
    pub(super) removed: usize,
    pub(super) revoked: usize,
    pub(super) recycled: usize,
    pub(super) kept: usize,
}

/// One side of a connection that is still believed, to be closed within a window.
type Recycled = (Arc<Connection>, Side);

impl Sweep<'_> {
    /// Judges again whoever was judged under fewer contractions than there have been, and writes one line for each bundle
    /// that shrank.
    pub(super) fn run(&self, connections: &[Arc<Connection>], now: SystemTime) -> BTreeMap<TrustId, Tally> {
        let mut tallies: BTreeMap<TrustId, Tally> = BTreeMap::new();
        let mut recycled: BTreeMap<(TrustId, Duration), Vec<Recycled>> = BTreeMap::new();
        let mut memory = Memory::new(now);
        for (connection, side, question) in self.likely_casualties_first(connections) {
            let verdict = memory.answer(&question);
            let tally = tallies.entry(question.trust).or_default();
            tally.judged += 1;
            match self.fate(verdict, question.trust) {
                Fate::Close(why) => {
                    let count = if why == HandshakeFailure::Revoked { &mut tally.revoked } else { &mut tally.removed };
                    *count += 1;
                    connection.order(Order::untrusted(side, why));
                }
                Fate::Recycle(spread) => {
                    recycled.entry((question.trust, spread)).or_default().push((connection.clone(), side));
                }
                Fate::Keep => tally.kept += 1,
            }
            judged(connection, side, &question);
        }
        for ((trust, spread), connections) in recycled {
            let set = self.recycle(connections, spread);
            tallies.entry(trust).or_default().recycled += set;
        }
        for (trust, tally) in &tallies {
            tracing::info!(
                trust = self.plan.trust(*trust).name,
                judged = tally.judged,
                removed = tally.removed,
                revoked = tally.revoked,
                recycled = tally.recycled,
                kept = tally.kept,
                verdicts = memory.worked_out(),
                took_ms = u64::try_from(self.published.elapsed().as_millis()).unwrap_or(u64::MAX),
                "trust has shrunk: live connections were judged again"
            );
        }
        tallies
    }

    /// Judges again one side of one connection that has just been registered. On its worker: its handshake did as much there
    /// a moment ago, and until the answer is known nothing may pass.
    pub(super) fn newcomer(&self, connection: &Arc<Connection>, side: Side, now: SystemTime) {
        let Some(question) = Question::of(connection, side, self.configs) else { return };
        match self.fate(question.answer(now), question.trust) {
            Fate::Close(why) => connection.order(Order::untrusted(side, why)),
            Fate::Recycle(spread) => {
                self.recycle(vec![(connection.clone(), side)], spread);
            }
            Fate::Keep => {}
        }
        judged(connection, side, &question);
    }

    /// Everybody who must be judged, and first those whose chain names no anchor or a revoked serial.
    fn likely_casualties_first<'c>(
        &'c self,
        connections: &'c [Arc<Connection>],
    ) -> Vec<(&'c Arc<Connection>, Side, Question<'c>)> {
        let mut hints: BTreeMap<TrustId, Casualties<'_>> = BTreeMap::new();
        let (mut likely, mut others) = (Vec::new(), Vec::new());
        for connection in connections {
            for side in [Side::Accepted, Side::Dialled] {
                let Some(question) = Question::of(connection, side, self.configs) else { continue };
                let hint = hints.entry(question.trust).or_insert_with(|| Casualties::of(question.authority));
                let rank = if hint.are_likely(&question.judged.chain) { &mut likely } else { &mut others };
                rank.push((connection, side, question));
            }
        }
        likely.append(&mut others);
        likely
    }

    fn fate(&self, verdict: Verdict, trust: TrustId) -> Fate {
        match (verdict, self.plan.trust(trust).still_trusted) {
            (Verdict::Untrusted(why), _) => Fate::Close(why),
            (_, StillTrusted::Recycle { spread }) => Fate::Recycle(spread),
            (Verdict::Over, StillTrusted::Keep) => Fate::Recycle(WINDOW_OF_THE_ENDED),
            (Verdict::Trusted, StillTrusted::Keep) => Fate::Keep,
        }
    }

    /// Spreads the ends of connections that are still trusted over what is left of their window.
    fn recycle(&self, connections: Vec<Recycled>, spread: Duration) -> usize {
        let (from, to) = window(self.published, spread, Instant::now());
        let end = |(connection, side): Recycled| {
            let pending = pending(self.observer, &connection, side);
            (connection, Order::recycle(side), pending)
        };
        self.pacer.set(Batch { ends: connections.into_iter().map(end).collect(), from, to })
    }
}

enum Fate {
    Close(HandshakeFailure),
    Recycle(Duration),
    Keep,
}

/// Counts a connection as one that will be recycled, with the component of the side that it is for.
pub(super) fn pending(observer: &Observer, connection: &Connection, side: Side) -> Vec<PendingRecycle> {
    let component: &Component = match side {
        Side::Accepted | Side::Both => observer.listener(connection.listener.0),
        Side::Dialled => observer.upstream(connection.upstream.0),
    };
    vec![component.recycle_pending()]
}

/// After the fate is sealed, never before: a panic in between must leave the question open.
fn judged(connection: &Connection, side: Side, question: &Question<'_>) {
    if let Some(footing) = connection.footing(side) {
        footing.set_judged_under(question.authority.contractions());
    }
}
