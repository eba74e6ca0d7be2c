//! One consistent snapshot of the files of a material.
//!
//! Where a path runs through a directory link, as Kubernetes lays out volumes (`tls.crt -> ..data/tls.crt`,
//! `..data -> ..2025_01_01`), every link is resolved once for all files of the material, so that all come from one
//! directory generation, also when the link is swapped in between. Where none does, the files are read until two reads
//! agree: a writer that truncates and rewrites in place is caught at it.

use std::{
    collections::{HashMap, VecDeque},
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Component, Path, PathBuf},
    thread,
    time::Duration,
};

use super::reason::{Fault, Reason};

/// The most that is read of one file, in bytes.
pub const FILE_LIMIT: u64 = 1024 * 1024;
/// Links in one path, as in Linux.
const LINK_LIMIT: usize = 40;

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

/// Reads all `paths`. Blocks for at most `policy.pause` times `policy.attempts` and the reads themselves.
pub fn snapshot(paths: &[&Path], policy: ReadPolicy) -> Result<Snapshot, Fault> {
    settle(policy, || read_all(paths))
}

/// Reads until what was read can be believed.
fn settle(policy: ReadPolicy, mut read: impl FnMut() -> Result<Snapshot, Fault>) -> Result<Snapshot, Fault> {
    let mut last: Option<Result<Snapshot, Fault>> = None;
    for attempt in 0..policy.attempts.max(1) {
        if attempt > 0 {
            thread::sleep(policy.pause);
        }
        let now = read();
        match &now {
            // A directory generation is complete when the link points to it.
            Ok(snapshot) if snapshot.linked => return now,
            Ok(snapshot) if last.as_ref().is_some_and(|last| last.as_ref() == Ok(snapshot)) => return now,
            Err(fault) if is_lasting(fault, last.as_ref()) => return now,
            _ => last = Some(now),
        }
    }
    match last {
        Some(Err(fault)) => Err(fault),
        _ => Err(Fault::new(Reason::Unstable, "the files changed with every read")),
    }
}

/// Whether another read would say the same: a fault of size or kind, or the same fault twice (once may be a swap).
fn is_lasting(fault: &Fault, last: Option<&Result<Snapshot, Fault>>) -> bool {
    matches!(fault.reason, Reason::FileTooLarge | Reason::NotAFile)
        || last.is_some_and(|last| last.as_ref() == Err(fault))
}

fn read_all(paths: &[&Path]) -> Result<Snapshot, Fault> {
    let mut links = Links::default();
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

/// Links as they were when first met, so that all paths of a snapshot see the same.
#[derive(Default)]
struct Links {
    seen: HashMap<PathBuf, Option<PathBuf>>,
}

struct Resolved {
    path: PathBuf,
    linked: bool,
}

impl Links {
    fn resolve(&mut self, path: &Path) -> io::Result<Resolved> {
        let start = std::path::absolute(path)?;
        // A link on the way to the mount, such as /var/run, says nothing about the volume.
        let mount = start.parent().and_then(Path::parent).map_or(0, |above| above.components().count());
        let mut ahead: VecDeque<OsString> = names(&start);
        let (mut at, mut depth, mut links, mut linked) = (PathBuf::from("/"), 0, 0, false);
        // How many of the names ahead are the path's own; those in front of them came from links.
        let mut own = ahead.len();
        while let Some(name) = ahead.pop_front() {
            if ahead.len() < own {
                own = ahead.len();
                depth += 1;
            }
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            let Some(target) = self.link(&next)? else {
                at = next;
                continue;
            };
            links += 1;
            if links > LINK_LIMIT {
                return Err(io::Error::other("too many links"));
            }
            // A link to the file itself is no directory link. `depth` is counted without the root, `mount` with it.
            linked |= !ahead.is_empty() && depth + 1 > mount;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            for name in names(&target).into_iter().rev() {
                ahead.push_front(name);
            }
        }
        Ok(Resolved { path: at, linked })
    }

    /// Where `path` points, if it is a link.
    fn link(&mut self, path: &Path) -> io::Result<Option<PathBuf>> {
        if let Some(known) = self.seen.get(path) {
            return Ok(known.clone());
        }
        let is_link = fs::symlink_metadata(path)?.file_type().is_symlink();
        let target = if is_link { Some(fs::read_link(path)?) } else { None };
        self.seen.insert(path.to_owned(), target.clone());
        Ok(target)
    }
}

fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests;
