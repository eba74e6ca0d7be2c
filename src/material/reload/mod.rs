//! Hot reload: a thread of its own finds changed files, judges them, and publishes what follows in one pointer swap.
//!
//! [`Hints`] wake it, `pace` says when it reads, an [`Engine`] does one pass, [`Watch`] is told where to look next. What is
//! derived from the generations, and what happens after a publication, is given by whoever composes the process.

mod engine;
mod hints;
mod memory;
mod pace;
mod pass;
#[cfg(test)]
mod tests;

pub use engine::Engine;
pub use hints::Hints;
pub use pass::{Change, Derive, DeriveError, Pass};

use std::{
    io,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use super::{
    observed,
    publish::{self, Publisher, Reader},
    watch::{Watch, Watching},
};
use crate::{observe::Observer, plan::Plan};
use pace::Pace;

/// The longest time between two looks at the wall clock, which may be set, or run on while the machine is suspended.
const LOOK: Duration = Duration::from_millis(500);

/// What is called after each publication, on the thread of the materials, with what is current from then on. The next
/// reading waits for it.
pub type AfterPublish<C> = Box<dyn Fn(&Arc<C>) + Send>;

/// What a reloader is made of.
pub struct Parts<C> {
    /// Whose materials.
    pub plan: Arc<Plan>,
    /// Who is told.
    pub observer: Arc<Observer>,
    /// What is published follows from the generations by this.
    pub derive: Derive<C>,
    /// Called after each publication but that of the start.
    pub after_publish: AfterPublish<C>,
    /// Whether file events are asked for.
    pub watching: Watching,
}

impl<C> std::fmt::Debug for Parts<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("watching", &self.watching).finish_non_exhaustive()
    }
}

/// The thread of the materials. Dropping it stops it and waits for its end.
#[derive(Debug)]
pub struct Reloader {
    hints: Arc<Hints>,
    thread: Option<JoinHandle<()>>,
}

/// Has everything read again, now. Does nothing any more once the reloader was stopped.
#[derive(Debug, Clone)]
pub struct Reread(Arc<Hints>);

impl Reread {
    /// Reads all files now, and judges again also what was refused before.
    pub fn now(&self) {
        self.0.reread();
    }
}

/// Why a reloader does not start.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// Nothing can be derived, not even when nothing is loaded.
    #[error("nothing can be derived from the materials")]
    Derive(#[source] DeriveError),
    /// The operating system refuses a thread.
    #[error("cannot start the thread of the materials")]
    Thread(#[source] io::Error),
}

impl Reloader {
    /// Loads every material once, and keeps them up to date from then on. A bad one is logged and leaves its roles
    /// without. Blocks for the first load.
    ///
    /// # Errors
    /// Nothing can be derived, or there is no thread.
    pub fn start<C: Send + Sync + 'static>(parts: Parts<C>) -> Result<(Self, Reader<C>), ReloadError> {
        let Parts { plan, observer, derive, after_publish, watching } = parts;
        let mut engine = Engine::new(plan.clone(), derive);
        let now = SystemTime::now();
        let pass = engine.pass(now, false);
        let first = match pass.derived {
            Some(derived) => derived,
            None => Arc::new(engine.derive_current().map_err(ReloadError::Derive)?),
        };
        let (publisher, reader) = publish::channel(first);
        observed::tell_loaded(&observer, &plan, engine.observed(&pass.changes), now);
        let hints = Arc::new(Hints::default());
        let watch = Watch::new(watching, hints.clone(), plan.reload.poll);
        let pace = Pace::new(plan.reload);
        let work = Work { plan, observer, after_publish, engine, publisher, hints: hints.clone(), watch, pace };
        let thread = std::thread::Builder::new().name("iris-materials".to_owned()).spawn(move || work.run());
        Ok((Self { hints, thread: Some(thread.map_err(ReloadError::Thread)?) }, reader))
    }

    /// Has everything read again at a word.
    pub fn reread(&self) -> Reread {
        Reread(self.hints.clone())
    }

    /// Nothing is published any more when this returns. Does not wait for the thread.
    pub fn stop(&self) {
        self.hints.stop();
    }
}

impl Drop for Reloader {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // Its own panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// What the thread owns.
struct Work<C> {
    plan: Arc<Plan>,
    observer: Arc<Observer>,
    after_publish: AfterPublish<C>,
    engine: Engine<C>,
    publisher: Publisher<C>,
    hints: Arc<Hints>,
    watch: Watch,
    pace: Pace,
}

impl<C> Work<C> {
    fn run(mut self) {
        let mut look = Instant::now();
        loop {
            let state = self.hints.state();
            if state.stopped {
                return;
            }
            let now = Instant::now();
            let due = self.pace.due(state.burst, now);
            let by_clock = now >= look && self.engine.is_due(SystemTime::now());
            if now >= look {
                look = now + LOOK;
            }
            if state.reread || due <= now || by_clock {
                self.pass();
            } else {
                self.hints.wait(due.min(look));
            }
        }
    }

    fn pass(&mut self) {
        // Before anything is read: what changes from here on is hinted anew.
        let taken = self.hints.take();
        if taken.lost {
            self.watch.lose(Instant::now());
        }
        let now = SystemTime::now();
        let pass = self.engine.pass(now, taken.reread);
        let changed = !pass.changes.is_empty();
        let acted = self.hints.unless_stopped(|| {
            if let Some(derived) = &pass.derived {
                self.publisher.publish(derived.clone());
            }
        });
        if acted.is_none() {
            return;
        }
        if let Some(derived) = &pass.derived {
            (self.after_publish)(derived);
        }
        if changed {
            observed::tell_changes(&self.observer, &self.plan, self.engine.observed(&pass.changes), now);
        }
        let armed = self.watch.arm(&pass.places, Instant::now());
        self.observer.metrics().set_watcher_up(armed.up);
        self.pace.read(Instant::now(), changed, self.engine.is_refusing());
        if armed.fresh {
            self.hints.event();
        }
    }
}
