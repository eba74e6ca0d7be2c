//! Standard output: the only place that writes to it. A reader that goes away (`iris check | head`) is no failure.

use std::io::{self, Write};

use super::exit::Exit;

/// Writes `text` to standard output; gives `exit` back unless it cannot be written.
pub(super) fn print(text: &str, exit: Exit) -> Exit {
    let mut out = io::stdout().lock();
    match settle(out.write_all(text.as_bytes()).and_then(|()| out.flush())) {
        Ok(()) => exit,
        Err(error) => {
            complain(&format!("cannot write to standard output: {error}"));
            Exit::Problems
        }
    }
}

/// Writes a line to standard error, for what goes wrong before there is a log.
pub(super) fn complain(text: &str) {
    // Nowhere is left to report that this failed.
    let _ = writeln!(io::stderr().lock(), "iris: {text}");
}

/// That nobody reads any more is no error.
fn settle(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_went_away_is_no_error_and_a_full_disk_is_one() {
        assert!(settle(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(settle(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
