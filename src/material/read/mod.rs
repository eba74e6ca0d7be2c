//! One consistent snapshot of the files of a material.
//!
//! Where a path runs through a directory link, as Kubernetes lays out volumes (`tls.crt -> ..data/tls.crt`,
//! `..data -> ..2025_01_01`), every link is resolved once for all files of the material, so that all come from one
//! directory generation, also when the link is swapped in between. Where none does, the files are read until two reads
//! agree: a writer that truncates and rewrites in place is caught at it.

mod links;

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use super::reason::{Fault, Reason};
use links::Links;

/// The most that is read of one file, in bytes.
pub const FILE_LIMIT: u64 = 1024 * 1024;

/// How hard to try.
#[derive(Debug, Clone, Copy)]
pub struct ReadPolicy {
    /// Between two reads.
    pub pause: Duration,
    /// Reads of the whole material, at most.
    pub attempts: u32,
}

impl Default for ReadPolicy {
    fn default() -> Self {
        Self { pause: Duration::from_millis(20), attempts: 5 }
    }
}

/// The bytes of all files of a material, of one moment.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// In the order asked for.
    pub files: Vec<Vec<u8>>,
    /// Whether a directory link led to every file.
    pub linked: bool,
}

// The bytes may be keys.
impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("linked", &self.linked).finish_non_exhaustive()
    }
}

impl Snapshot {
    /// SHA-256 over all files, each with its length: equal digests are equal content. Not for any output, since it
    /// covers private keys.
    pub fn digest(&self) -> [u8; 32] {
        let mut all = Vec::with_capacity(self.files.iter().map(|file| file.len() + 8).sum());
        for file in &self.files {
            all.extend_from_slice(&(file.len() as u64).to_be_bytes());
            all.extend_from_slice(file);
        }
        super::provider::sha256(&all)
    }
}

/// What was read of several materials, all of one moment, and where to look for changes.
#[derive(Debug)]
pub struct Reading {
    /// In the order asked for.
    pub outcomes: Vec<Result<Snapshot, Fault>>,
    /// Directories, without links in their paths, in which a change can change what the next reading finds: those of the
    /// files, of every link on the way, and for what is missing the nearest that is there.
    pub places: BTreeSet<PathBuf>,
}

/// Reads all `paths` of one material. Blocks for at most `policy.pause` times `policy.attempts` and the reads themselves.
pub fn snapshot(paths: &[&Path], policy: ReadPolicy) -> Result<Snapshot, Fault> {
    snapshots(&[paths.to_vec()], policy).outcomes.remove(0)
}

/// Reads several materials. A link that leads to more than one of them is resolved once, so that materials of one
/// directory generation are read from that generation. Blocks as [`snapshot`] does, however many there are.
pub fn snapshots(materials: &[Vec<&Path>], policy: ReadPolicy) -> Reading {
    let mut places = BTreeSet::new();
    let outcomes = settle(policy, || {
        let mut links = Links::default();
        let outcomes = materials.iter().map(|paths| read_all(&mut links, paths)).collect();
        places = links.places;
        outcomes
    });
    Reading { outcomes, places }
}

/// Reads until what was read can be believed, of every material: one that cannot has all read again, since a link may
/// have been swapped.
fn settle(policy: ReadPolicy, mut read: impl FnMut() -> Vec<Result<Snapshot, Fault>>) -> Vec<Result<Snapshot, Fault>> {
    let mut last = Vec::new();
    for attempt in 1.. {
        let now = read();
        let before = |position: usize| last.get(position);
        if now.iter().enumerate().all(|(position, one)| is_credible(one, before(position))) {
            return now;
        }
        if attempt >= policy.attempts {
            let unstable = || Fault::new(Reason::Unstable, "the files changed with every read");
            let judge = |(position, one): (usize, Result<_, _>)| {
                if one.is_err() || is_credible(&one, before(position)) { one } else { Err(unstable()) }
            };
            return now.into_iter().enumerate().map(judge).collect();
        }
        last = now;
        thread::sleep(policy.pause);
    }
    unreachable!("the last attempt returns")
}

/// Whether a read tells how things are: a directory generation is complete when the link points to it, plain files are
/// at rest when two reads agree.
fn is_credible(read: &Result<Snapshot, Fault>, last: Option<&Result<Snapshot, Fault>>) -> bool {
    match read {
        Ok(snapshot) => snapshot.linked || last == Some(read),
        Err(fault) => is_lasting(fault, last),
    }
}

/// Whether another read would say the same: a fault of size or kind, or the same fault twice (once may be a swap).
fn is_lasting(fault: &Fault, last: Option<&Result<Snapshot, Fault>>) -> bool {
    matches!(fault.reason, Reason::FileTooLarge | Reason::NotAFile)
        || last.is_some_and(|last| last.as_ref() == Err(fault))
}

fn read_all(links: &mut Links, paths: &[&Path]) -> Result<Snapshot, Fault> {
    let mut snapshot = Snapshot { files: Vec::with_capacity(paths.len()), linked: true };
    for path in paths {
        let blame = |error: io::Error| describe(&error).of_file(path);
        let resolved = links.resolve(path).map_err(blame)?;
        snapshot.linked &= resolved.linked;
        snapshot.files.push(read_one(&resolved.path).map_err(|fault| fault.of_file(path))?);
    }
    Ok(snapshot)
}

fn read_one(path: &Path) -> Result<Vec<u8>, Fault> {
    // Asked before opening: to open a FIFO is to wait for its writer.
    if !fs::metadata(path).map_err(|error| describe(&error))?.is_file() {
        return Err(Fault::new(Reason::NotAFile, "a directory, socket, FIFO or device"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| describe(&error))?;
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| describe(&error))?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(Fault::new(Reason::FileTooLarge, format!("more than {FILE_LIMIT} bytes")));
    }
    Ok(bytes)
}

fn describe(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::NotFound => Fault::new(Reason::MissingFile, "no such file"),
        io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => Fault::new(Reason::NotAFile, error.to_string()),
        _ => Fault::new(Reason::Unreadable, error.to_string()),
    }
}

#[cfg(test)]
mod tests;
