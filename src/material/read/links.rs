//! Links, each resolved once.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

/// Links in one path, as in Linux.
const LINK_LIMIT: usize = 40;

/// Links as they were when first met, so that all paths of a snapshot see the same.
#[derive(Default)]
pub(super) struct Links {
    seen: HashMap<PathBuf, Option<PathBuf>>,
    /// Directories in which a change can change what is found.
    pub(super) places: BTreeSet<PathBuf>,
}

/// Where a path leads.
pub(super) struct Resolved {
    /// The file, no link in its path.
    pub(super) path: PathBuf,
    /// Whether a directory link led to it.
    pub(super) linked: bool,
}

impl Links {
    /// Follows every link of `path`, the file itself included, which need not be there.
    pub(super) fn resolve(&mut self, path: &Path) -> io::Result<Resolved> {
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
            let found = self.link(&next).inspect_err(|_| self.watch_nearest(&at));
            let Some(target) = found? else {
                at = next;
                continue;
            };
            self.places.insert(at.clone());
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
        self.places.extend(at.parent().map(Path::to_owned));
        Ok(Resolved { path: at, linked })
    }

    /// Something below `at`, where no link is in the path, is missing. `at` itself may be no directory.
    fn watch_nearest(&mut self, at: &Path) {
        self.places.extend(at.ancestors().find(|above| above.is_dir()).map(Path::to_owned));
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
