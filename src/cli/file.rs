//! Reading a configuration file.

use std::{fs::File, io::Read, path::Path};

use crate::config::MAX_SIZE;

/// The bytes of a configuration file. One that is too large is read just so far that the parser sees it.
///
/// # Errors
/// Why it cannot be read, in words.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_SIZE).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| format!("cannot read the file: {error}"))?;
    Ok(bytes)
}
