//! A volume as kubelet writes it: Secrets, ConfigMaps and projected volumes.
//!
//! ```text
//! ..2026_11_30_14_29_15.123456789/tls.crt    the files of one generation
//! ..data -> ..2026_11_30_14_29_15.123456789  swapped in one rename
//! tls.crt -> ..data/tls.crt                  what the process opens
//! ```
//!
//! In kubelet's order: the new directory with its files, `..data_tmp`, its rename over `..data`, links for new names, links
//! of names that are gone, and last the old directory.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::Instant,
};

use time::OffsetDateTime;

/// A directory whose files change all at once. Dropping it leaves it.
pub(crate) struct Volume {
    directory: PathBuf,
}

/// A volume between two steps of the writer.
pub(crate) struct Prepared<'a> {
    volume: &'a Volume,
    names: Vec<String>,
}

impl Volume {
    /// The empty mount that is there before the Secret is.
    pub(crate) fn mount(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        fs::create_dir_all(&directory).unwrap();
        Self { directory }
    }

    /// At which path a process opens a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Puts `files` in place of all that was there. Returns the moment right before the rename.
    pub(crate) fn publish(&self, files: &[(&str, &str)]) -> Instant {
        let prepared = self.prepare(files);
        let renamed = Instant::now();
        prepared.swap();
        renamed
    }

    /// Everything before the rename.
    pub(crate) fn prepare(&self, files: &[(&str, &str)]) -> Prepared<'_> {
        let now = OffsetDateTime::now_utc();
        let (date, time) = (now.date(), now.time());
        let (month, day) = (u8::from(date.month()), date.day());
        let stamp = format!("..{}_{month:02}_{day:02}_", date.year());
        let stamp = format!("{stamp}{:02}_{:02}_{:02}", time.hour(), time.minute(), time.second());
        let generation = format!("{stamp}.{:09}", time.nanosecond());
        fs::create_dir(self.path(&generation)).unwrap();
        fs::set_permissions(self.path(&generation), fs::Permissions::from_mode(0o755)).unwrap();
        for (name, content) in files {
            let path = self.path(&generation).join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        symlink(&generation, self.path("..data_tmp")).unwrap();
        Prepared { volume: self, names: files.iter().map(|(name, _)| (*name).to_owned()).collect() }
    }
}

impl Prepared<'_> {
    /// The rename and everything after it.
    pub(crate) fn swap(self) {
        let volume = self.volume;
        let before = fs::read_link(volume.path("..data")).ok();
        fs::rename(volume.path("..data_tmp"), volume.path("..data")).unwrap();
        for name in self.names.iter().filter(|name| fs::symlink_metadata(volume.path(name)).is_err()) {
            symlink(Path::new("..data").join(name), volume.path(name)).unwrap();
        }
        for entry in fs::read_dir(&volume.directory).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if !name.starts_with("..") && !self.names.contains(&name) {
                fs::remove_file(volume.path(&name)).unwrap();
            }
        }
        if let Some(before) = before {
            fs::remove_dir_all(volume.directory.join(before)).unwrap();
        }
    }
}
