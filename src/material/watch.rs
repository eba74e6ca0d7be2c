//! File events, as hints that something may have changed. The only file that names `notify`.
//!
//! Directories are watched, never files: a file that is replaced takes its watch along. What an event says is not looked
//! at, since writers differ in what they do and events get lost; whoever is hinted reads everything.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, Event},
};

use super::reload::Hints;

/// Whether file events are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Watching {
    /// As the kernel gives them.
    #[default]
    Events,
    /// As if the kernel gave none: instances or watches used up, a file system without events. The poll finds all.
    Unusable,
}

/// What became of an attempt to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Armed {
    /// Whether events arrive from every place.
    pub up: bool,
    /// Whether a place is watched that was not before: what happened there since it was read gave no event.
    pub fresh: bool,
}

/// The watches of one process.
pub struct Watch {
    watching: Watching,
    hints: Arc<Hints>,
    /// How long events are not relied upon after some were lost.
    pause: Duration,
    watcher: Option<RecommendedWatcher>,
    /// Which directory is watched at which path.
    armed: BTreeMap<PathBuf, Directory>,
    lost: Option<Instant>,
    was_up: Option<bool>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("watching", &self.watching).field("armed", &self.armed).finish_non_exhaustive()
    }
}

impl Watch {
    /// Watches nothing yet.
    pub fn new(watching: Watching, hints: Arc<Hints>, pause: Duration) -> Self {
        Self { watching, hints, pause, watcher: None, armed: BTreeMap::new(), lost: None, was_up: None }
    }

    /// Events were lost at `now`: those that still arrive stay hints, but nobody is told that they suffice until the
    /// pause is over and everything is watched anew.
    pub fn lose(&mut self, now: Instant) {
        self.lost.get_or_insert(now);
    }

    /// Watches these directories and no others. To be called after each reading: directories come and go, and one that
    /// was replaced under its name must be watched again. What fails is tried again at the next call.
    pub fn arm(&mut self, places: &BTreeSet<PathBuf>, now: Instant) -> Armed {
        if self.lost.is_some_and(|since| now >= since + self.pause) {
            (self.lost, self.watcher) = (None, None);
            self.armed.clear();
        }
        let outcome = self.try_arm(places);
        let up = outcome.is_ok() && self.lost.is_none();
        if self.was_up.replace(up) != Some(up) {
            match &outcome {
                Err(error) => tracing::warn!(error, "file events are not to be had: changes are found by the poll"),
                Ok(_) if !up => tracing::warn!("file events were lost: changes are found by the poll"),
                Ok(_) => tracing::info!(directories = self.armed.len(), "watching for file events"),
            }
        }
        Armed { up, fresh: outcome.unwrap_or(false) }
    }

    /// Whether something was added, or the first thing that went wrong; the rest is watched all the same.
    fn try_arm(&mut self, places: &BTreeSet<PathBuf>) -> Result<bool, String> {
        if self.watching == Watching::Unusable {
            return Err("switched off".to_owned());
        }
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none => {
                let hints = self.hints.clone();
                let watcher = notify::recommended_watcher(move |event| hint(&hints, event));
                none.insert(watcher.map_err(|error| error.to_string())?)
            }
        };
        let wanted: BTreeMap<&Path, Directory> =
            places.iter().filter_map(|place| Some((place.as_path(), Directory::at(place)?))).collect();
        self.armed.retain(|place, directory| {
            let keep = wanted.get(place.as_path()) == Some(directory);
            if !keep {
                // Fails when the directory is gone, and its watch with it.
                let _ = watcher.unwatch(place);
            }
            keep
        });
        let (mut fresh, mut failure) = (false, None);
        for (place, directory) in wanted {
            if self.armed.contains_key(place) {
                continue;
            }
            match watcher.watch(place, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.armed.insert(place.to_owned(), directory);
                    fresh = true;
                }
                // It may be gone again: then the next reading knows better.
                Err(_) if !place.exists() => {}
                Err(error) => failure = Some(error.to_string()),
            }
        }
        failure.map_or(Ok(fresh), Err)
    }
}

/// Any event is a hint, but one: to open a file changes nothing, and as a hint it would have the reader wake itself.
fn hint(hints: &Hints, event: notify::Result<Event>) {
    match event {
        Ok(event) if event.need_rescan() => hints.lost(),
        Ok(Event { kind: EventKind::Access(AccessKind::Open(_)), .. }) => {}
        Ok(_) => hints.event(),
        Err(_) => hints.lost(),
    }
}

/// A directory, whatever its name: inode numbers are used again, so its birth is part of it where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Directory {
    device: u64,
    inode: u64,
    born: Option<SystemTime>,
}

impl Directory {
    fn at(place: &Path) -> Option<Self> {
        let metadata = fs::metadata(place).ok().filter(fs::Metadata::is_dir)?;
        Some(Self { device: metadata.dev(), inode: metadata.ino(), born: metadata.created().ok() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(10);

    fn watch(watching: Watching) -> (Watch, Arc<Hints>) {
        let hints = Arc::new(Hints::default());
        (Watch::new(watching, hints.clone(), PAUSE), hints)
    }

    #[track_caller]
    fn wait_for_hint(hints: &Hints) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !hints.is_hinted() {
            assert!(Instant::now() < deadline, "no hint");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_change_is_a_hint_and_an_opening_is_none() {
        let directory = tempfile::tempdir().expect("directory");
        let file = directory.path().join("file");
        fs::write(&file, "1").expect("write");
        let (mut watch, hints) = watch(Watching::Events);
        let places = BTreeSet::from([directory.path().to_owned()]);
        let now = Instant::now();
        assert_eq!(watch.arm(&places, now), Armed { up: true, fresh: true });
        assert_eq!(watch.arm(&places, now), Armed { up: true, fresh: false });
        for _ in 0..100 {
            fs::read(&file).expect("read");
        }
        fs::rename(&file, directory.path().join("other")).expect("rename");
        wait_for_hint(&hints);
        // Of its own: more of the rename's events may still be on their way to the other.
        let hints = Hints::default();
        hint(&hints, Ok(Event::new(EventKind::Access(AccessKind::Open(notify::event::AccessMode::Any)))));
        assert!(!hints.is_hinted());
    }

    #[test]
    fn a_directory_that_was_replaced_is_watched_anew() {
        let root = tempfile::tempdir().expect("directory");
        let place = root.path().join("volume");
        let (mut watch, hints) = watch(Watching::Events);
        for round in 0..5 {
            fs::create_dir(&place).expect("directory");
            assert!(watch.arm(&BTreeSet::from([place.clone()]), Instant::now()).fresh, "{round}");
            hints.forget();
            fs::write(place.join("file"), "1").expect("write");
            wait_for_hint(&hints);
            fs::remove_dir_all(&place).expect("remove");
        }
    }

    #[test]
    fn a_place_that_is_gone_is_no_failure() {
        let root = tempfile::tempdir().expect("directory");
        let (mut watch, _) = watch(Watching::Events);
        let places = BTreeSet::from([root.path().to_owned(), root.path().join("gone")]);
        assert_eq!(watch.arm(&places, Instant::now()), Armed { up: true, fresh: true });
    }

    #[test]
    fn lost_events_are_not_relied_upon_until_everything_is_watched_anew() {
        let directory = tempfile::tempdir().expect("directory");
        let places = BTreeSet::from([directory.path().to_owned()]);
        let (mut watch, hints) = watch(Watching::Events);
        let now = Instant::now();
        assert!(watch.arm(&places, now).up);
        hint(&hints, Ok(Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan)));
        assert!(hints.is_hinted());
        watch.lose(now);
        assert_eq!(watch.arm(&places, now + PAUSE / 2), Armed { up: false, fresh: false });
        assert_eq!(watch.arm(&places, now + PAUSE), Armed { up: true, fresh: true });
    }

    #[test]
    fn without_events_nothing_is_up() {
        let (mut watch, _) = watch(Watching::Unusable);
        let places = BTreeSet::from([std::env::temp_dir()]);
        assert_eq!(watch.arm(&places, Instant::now()), Armed { up: false, fresh: false });
    }
}
