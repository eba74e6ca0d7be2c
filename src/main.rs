//! The `iris` binary. See [`iris::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    iris::cli::main()
}
