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
    /// A socket cannot be bound, or the operating system refuses something else.
    System = 71,
    /// The configuration is wrong.
    Configuration = 78,
}

/// The table of `--help`.
pub(super) const TABLE: &str = "\
Exit codes:
  0   success; of `run` also after SIGTERM or SIGINT
  1   problems were found; demo: an expectation did not hold
  2   wrong usage
  71  run: a socket cannot be bound, or the system refuses something else
  78  run: the configuration is wrong; every problem is listed";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_code() {
        for exit in [Exit::Success, Exit::Problems, Exit::Usage, Exit::System, Exit::Configuration] {
            assert!(TABLE.contains(&format!("\n  {:<4}", exit as u8)), "{exit:?}");
        }
    }
}
