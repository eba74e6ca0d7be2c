//! The binary as a process.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The command, not started.
pub(crate) fn iris(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iris"));
    command.args(arguments);
    command
}

/// The process, killed when a test fails in the middle.
pub(crate) struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStderr>,
    /// What was read of the log so far.
    pub(crate) log: String,
}

impl Running {
    pub(crate) fn start(config: &str) -> Self {
        let mut child = iris(&["run", "--config", config]).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        Self { child, lines, log: String::new() }
    }

    /// Reads the log up to a line with this message.
    pub(crate) fn wait_for(&mut self, message: &str) -> serde_json::Value {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            let parsed: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            self.log.push_str(&line);
            if parsed["message"] == message {
                return parsed;
            }
            line.clear();
        }
        panic!("the log ended without {message:?}");
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < DEADLINE, "it does not end");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
