//! One pass: read everything, judge what is new, derive what follows from it. Blocks; touches nothing that is in use.

use std::{
    collections::BTreeMap,
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    memory::{Content, Held, Judged, Judges, Memory},
    pass::{Change, Derive, DeriveError, Pass},
};
use crate::{
    material::{
        Built, Generations, MaterialId, Reason, Rejection, load,
        observed::Observed,
        read::{self, ReadPolicy, Snapshot},
        reason::Fault,
        source,
    },
    plan::{Plan, TrustId},
};

/// A wall clock that is set back by more than this has time-dependent judgements made again.
const BACKWARDS: Duration = Duration::from_secs(1);

/// Generations of all materials of a plan, brought up to date pass by pass.
pub struct Engine<C> {
    plan: Arc<Plan>,
    derive: Derive<C>,
    generations: Generations,
    memories: BTreeMap<MaterialId, Memory>,
    passed_at: Option<SystemTime>,
}

impl<C> std::fmt::Debug for Engine<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("generations", &self.generations).finish_non_exhaustive()
    }
}

impl<C> Engine<C> {
    /// Nothing is loaded.
    pub fn new(plan: Arc<Plan>, derive: Derive<C>) -> Self {
        let memories = MaterialId::all(&plan).map(|id| (id, Memory::default())).collect();
        Self { plan, derive, generations: Generations::default(), memories, passed_at: None }
    }

    /// What is in use and what is refused.
    pub fn generations(&self) -> &Generations {
        &self.generations
    }

    /// What follows from the generations as they are.
    ///
    /// # Errors
    /// Nothing can be derived.
    pub fn derive_current(&self) -> Result<C, DeriveError> {
        (self.derive)(&self.generations)
    }

    /// What is told after a pass with these changes.
    pub fn observed<'a>(&'a self, changes: &'a [(MaterialId, Change)]) -> Observed<'a> {
        let refusals = self.memories.iter().filter_map(|(id, memory)| Some((*id, memory.last_refusal.clone()?)));
        Observed { generations: &self.generations, changes, refusals: refusals.collect() }
    }

    /// Whether something on disk is refused, and may be good at the next look.
    pub fn is_refusing(&self) -> bool {
        self.memories.values().any(|memory| memory.refused.is_some())
    }

    /// Whether the wall clock alone asks for a pass: something that is held starts, an anchor in use ends, or the clock was
    /// set back.
    pub fn is_due(&self, now: SystemTime) -> bool {
        let started = |memory: &Memory| memory.held.as_ref().is_some_and(|held| held.starts <= now);
        self.memories.values().any(started)
            || self.bundles().any(|id| self.has_ended_anchors(id, now) || self.has_stale_lists(id, now))
            || self.went_back(now)
    }

    /// Reads and judges everything as of `now`. With `again` also what was refused before is judged anew.
    pub fn pass(&mut self, now: SystemTime, again: bool) -> Pass<C> {
        let plan = self.plan.clone();
        let ids: Vec<MaterialId> = MaterialId::all(&plan).collect();
        let files: Vec<Vec<&Path>> = ids.iter().map(|id| source::files(&plan, *id)).collect();
        let reading = read::snapshots(&files, ReadPolicy::default());
        let mut pass = Pass { changes: Vec::new(), derived: None, places: reading.places };
        let went_back = self.went_back(now);
        for (id, outcome) in ids.into_iter().zip(reading.outcomes) {
            self.follow_the_clock(id, &outcome, went_back, now, &mut pass);
            self.judge(id, outcome, again, now, &mut pass);
        }
        self.passed_at = Some(now);
        pass
    }

    /// What the clock alone changes: what was held starts although the files cannot be read now, and anchors end.
    fn follow_the_clock(
        &mut self,
        id: MaterialId,
        outcome: &Result<Snapshot, Fault>,
        went_back: bool,
        now: SystemTime,
        pass: &mut Pass<C>,
    ) {
        let memory = self.memory(id);
        if outcome.is_err() && memory.held.as_ref().is_some_and(|held| held.starts <= now) {
            let held = memory.held.take().expect("just seen");
            self.judge(id, Ok(held.snapshot), true, now, pass);
        }
        match id {
            MaterialId::Trust(bundle) if self.has_ended_anchors(bundle, now) || went_back => {
                self.reconsider_anchors(bundle, now, pass);
            }
            MaterialId::Revocation(bundle) if self.has_stale_lists(bundle, now) => {
                self.settle_lists(bundle, now, pass);
            }
            _ => {}
        }
    }

    /// Makes the bundle in use anew from the files that it was read from: some of its anchors have ended, or have not
    /// after all.
    fn reconsider_anchors(&mut self, bundle: TrustId, now: SystemTime, pass: &mut Pass<C>) {
        let id = MaterialId::Trust(bundle);
        let (Some(current), Some(source)) = (self.generations.trust(bundle).cloned(), self.memory(id).source.clone())
        else {
            return;
        };
        let built = match self.build(id, &source, now) {
            Ok(Built::Trust(built)) => built,
            _ => current.value.without_ended(now),
        };
        if current.value.contracts_to(&built) || built.contracts_to(&current.value) {
            self.replace(id, Built::Trust(built), Some(source), now, pass);
        }
    }

    /// Takes the lists in use for what they are by now: over, or not after all.
    fn settle_lists(&mut self, bundle: TrustId, now: SystemTime, pass: &mut Pass<C>) {
        let Some(current) = self.generations.revocation(bundle) else { return };
        let settled = current.value.as_of(now);
        self.replace(MaterialId::Revocation(bundle), Built::Revocation(settled), None, now, pass);
    }

    /// Puts what is in use by a reading of the clock in place of what was. It has no more in it than before, so it cannot be
    /// unusable where that was not.
    fn replace(&mut self, id: MaterialId, built: Built, source: Option<Snapshot>, now: SystemTime, pass: &mut Pass<C>) {
        let judged = self.memory(id).in_use.clone().expect("there is a generation in use");
        if self.adopt(id, judged, source, built, now, pass).is_ok() {
            pass.changes.push((id, Change::Adopted));
        }
    }

    fn judge(
        &mut self,
        id: MaterialId,
        outcome: Result<Snapshot, Fault>,
        again: bool,
        now: SystemTime,
        pass: &mut Pass<C>,
    ) {
        let by = self.judges(id);
        let snapshot = match outcome {
            Ok(snapshot) => snapshot,
            Err(fault) => {
                let content = Content::Unread(fault.reason, fault.file.clone());
                return self.refuse(id, Judged { content, by }, fault, now, pass);
            }
        };
        let judged = Judged { content: Content::Read(snapshot.digest()), by };
        let memory = self.memory(id);
        if memory.in_use.as_ref() == Some(&judged) {
            return self.settle(id, pass);
        }
        let is_held = |held: &Held| held.content == judged.content && now < held.starts;
        if memory.refused.is_none() && memory.held.as_ref().is_some_and(is_held) {
            return;
        }
        let refused = memory.refused.as_ref() == Some(&judged);
        let by_time = self.generations.rejection(id).is_some_and(|rejection| rejection.class.depends_on_time());
        if refused && !again && !by_time {
            return;
        }
        match self.build(id, &snapshot, now) {
            Ok(built) => self.accept(id, judged, snapshot, built, now, pass),
            Err(Fault { starts: Some(starts), reason, detail, file }) if starts > now => {
                self.hold(id, judged, snapshot, Fault { starts: Some(starts), reason, detail, file }, pass);
            }
            Err(fault) => self.refuse(id, judged, fault, now, pass),
        }
    }

    fn accept(
        &mut self,
        id: MaterialId,
        judged: Judged,
        snapshot: Snapshot,
        built: Built,
        now: SystemTime,
        pass: &mut Pass<C>,
    ) {
        let stands = self.stands(id, &built);
        let memory = self.memory(id);
        if stands && memory.in_use.as_ref().is_some_and(|in_use| in_use.content == judged.content) {
            // Equal content is no reload: it was only judged by others, and stands.
            memory.in_use = Some(judged);
            return self.settle(id, pass);
        }
        match self.adopt(id, judged.clone(), Some(snapshot), built, now, pass) {
            Ok(()) => pass.changes.push((id, Change::Adopted)),
            Err(fault) => self.refuse(id, judged, fault, now, pass),
        }
    }

    /// Whether the same files, judged by others than before, still make the same: of a file of revocation lists those take
    /// part whose issuers are in the bundle.
    fn stands(&self, id: MaterialId, built: &Built) -> bool {
        match (id, built) {
            (MaterialId::Revocation(id), Built::Revocation(lists)) => {
                self.generations.revocation(id).is_some_and(|in_use| in_use.value.is_same_as(lists))
            }
            _ => true,
        }
    }

    /// Takes a generation into use, if everything can be derived from it and the others.
    fn adopt(
        &mut self,
        id: MaterialId,
        judged: Judged,
        source: Option<Snapshot>,
        built: Built,
        now: SystemTime,
        pass: &mut Pass<C>,
    ) -> Result<(), Fault> {
        let mut next = self.generations.clone();
        next.record(id, Ok(built), now);
        let derived = contained(|| {
            (self.derive)(&next).map_err(|error| {
                let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                Fault::new(Reason::Unusable, format!("{error}{cause}"))
            })
        })?;
        pass.derived = Some(Arc::new(derived));
        self.generations = next;
        let memory = self.memory(id);
        memory.in_use = Some(judged);
        memory.source = source.filter(|_| matches!(id, MaterialId::Trust(_)));
        memory.held = None;
        memory.settle();
        Ok(())
    }

    fn hold(&mut self, id: MaterialId, judged: Judged, snapshot: Snapshot, fault: Fault, pass: &mut Pass<C>) {
        let starts = fault.starts.expect("only what starts is held");
        self.reject(id, fault);
        let memory = self.memory(id);
        memory.settle();
        memory.held = Some(Held { content: judged.content, snapshot, starts });
        pass.changes.push((id, Change::Held));
    }

    fn refuse(&mut self, id: MaterialId, judged: Judged, fault: Fault, now: SystemTime, pass: &mut Pass<C>) {
        let is_read = matches!(judged.content, Content::Read(_));
        let memory = self.memory(id);
        let first = memory.is_first_refusal(&judged.content);
        if !first && memory.refused.as_ref() == Some(&judged) {
            return;
        }
        memory.refused = Some(judged);
        if is_read {
            // Replaced on disk before its time. What cannot be read replaces nothing.
            memory.held = None;
        }
        let rejection = self.reject(id, Fault { starts: None, ..fault });
        self.memory(id).last_refusal = Some((rejection, now));
        pass.changes.push((id, Change::Refused { first }));
    }

    /// What is on disk is what is in use.
    fn settle(&mut self, id: MaterialId, pass: &mut Pass<C>) {
        let memory = self.memory(id);
        memory.settle();
        memory.held = None;
        if self.generations.rejection(id).is_some() {
            self.generations.settle(id);
            pass.changes.push((id, Change::Settled));
        }
    }

    fn reject(&mut self, id: MaterialId, fault: Fault) -> Rejection {
        let rejection = fault.reject(id.name(&self.plan), source::files(&self.plan, id)[0]);
        self.generations.record(id, Err(rejection.clone()), SystemTime::UNIX_EPOCH);
        rejection
    }

    fn build(&self, id: MaterialId, snapshot: &Snapshot, now: SystemTime) -> Result<Built, Fault> {
        contained(|| load::build(&self.plan, &self.generations, id, snapshot, now))
    }

    fn judges(&self, id: MaterialId) -> Judges {
        let trust = |id| self.generations.trust(id).map(|generation| generation.sequence);
        let lists = |id| self.generations.revocation(id).map(|generation| generation.sequence);
        match id {
            MaterialId::Trust(_) => (None, None),
            MaterialId::Revocation(id) => (trust(id), None),
            MaterialId::Identity(id) => match self.plan.identity(id).expect.chains_to {
                Some(id) => (trust(id), lists(id)),
                None => (None, None),
            },
        }
    }

    fn bundles(&self) -> impl Iterator<Item = TrustId> {
        (0..self.plan.trust.len()).map(TrustId)
    }

    fn has_ended_anchors(&self, bundle: TrustId, now: SystemTime) -> bool {
        let in_use = self.generations.trust(bundle);
        in_use.is_some_and(|bundle| !bundle.value.anchors.is_empty() && bundle.value.earliest_end < now)
    }

    fn has_stale_lists(&self, bundle: TrustId, now: SystemTime) -> bool {
        self.generations.revocation(bundle).is_some_and(|lists| lists.value.is_stale(now))
    }

    fn went_back(&self, now: SystemTime) -> bool {
        self.passed_at.is_some_and(|last| now + BACKWARDS < last)
    }

    fn memory(&mut self, id: MaterialId) -> &mut Memory {
        self.memories.get_mut(&id).expect("every material has a memory")
    }
}

/// A panic over one material is a refusal of that material: it must not end the reloads of all. What runs in here only
/// reads, so nothing is left half changed.
fn contained<T>(act: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    panic::catch_unwind(AssertUnwindSafe(act))
        .unwrap_or_else(|_| Err(Fault::new(Reason::Unusable, "Iris panicked over it")))
}
