//! A directory of files as kubelet lays out a Secret, a ConfigMap or a projected volume.
//!
//! ```text
//! ..2026_11_30_14_29_15.0001/tls.crt    the files of one generation
//! ..data -> ..2026_11_30_14_29_15.0001  swapped in one rename
//! tls.crt -> ..data/tls.crt             what the process opens
//! ```

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::observe::status::rfc3339;

const DATA: &str = "..data";
const NEXT: &str = "..data_tmp";

/// A directory whose files change all at once.
#[derive(Debug)]
pub struct Volume {
    directory: PathBuf,
    generations: u32,
}

impl Volume {
    /// An empty volume in a directory that is made if it is not there.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn create(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        fs::create_dir_all(&directory)?;
        Ok(Self { directory, generations: 0 })
    }

    /// The path at which a process opens a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Puts `files` in place of all that was there, as kubelet does: a new directory, one rename of the link, links for
    /// new names, and only then the old directory goes. Returns the moment right after the rename.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn publish(&mut self, files: &[(&str, &str)]) -> io::Result<SystemTime> {
        self.generations += 1;
        let stamp = rfc3339(SystemTime::now()).replace(['-', ':', 'T', 'Z'], "_");
        let generation = format!("..{}.{:04}", stamp.trim_end_matches('_'), self.generations);
        fs::create_dir(self.path(&generation))?;
        for (name, content) in files {
            fs::write(self.path(&generation).join(name), content)?;
        }
        let before = fs::read_link(self.path(DATA)).ok();
        symlink(&generation, self.path(NEXT))?;
        fs::rename(self.path(NEXT), self.path(DATA))?;
        let published = SystemTime::now();
        self.relink(files)?;
        if let Some(before) = before {
            fs::remove_dir_all(self.directory.join(before))?;
        }
        Ok(published)
    }

    /// A link for each name, none for what is no longer there.
    fn relink(&self, files: &[(&str, &str)]) -> io::Result<()> {
        for (name, _) in files {
            match symlink(Path::new(DATA).join(name), self.path(name)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            if !name.starts_with("..") && !files.iter().any(|(kept, _)| *kept == name) {
                fs::remove_file(self.path(&name))?;
            }
        }
        Ok(())
    }
}
