//! Exit codes.

use std::process::ExitCode;

/// How a command ended. The numbers above 63 are those of `sysexits.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// All is well.
    Success = 0,
    /// Problems were found.
    Problems = 1,
    /// The command line is wrong.
    Usage = 2,
}

/// The table of `--help`.
pub(super) const TABLE: &str = "\
Exit codes:
  0   success
  1   problems were found
  2   wrong usage";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
