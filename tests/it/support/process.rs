//! The binary as a process.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::secrets;

/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The command, not started.
pub(crate) fn iris(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iris"));
    command.args(arguments);
    command
}

/// Runs it to its end. What it has said is searched for secrets.
pub(crate) fn output(arguments: &[&str]) -> Output {
    let output = iris(arguments).output().unwrap();
    secrets::search("the standard output", &output.stdout);
    secrets::search("the standard error", &output.stderr);
    output
}

/// The process, killed when a test fails in the middle. All that it has said is searched for secrets in the end.
pub(crate) struct Running {
    child: Child,
    /// Read by a thread, so that it never waits for its reader.
    lines: mpsc::Receiver<String>,
    /// What was looked at of the log so far.
    pub(crate) log: String,
}

impl Running {
    pub(crate) fn start(config: &str) -> Self {
        Self::spawn(iris(&["run", "--config", config]))
    }

    /// By a command that ends in `iris run` with a log in JSON.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let spawned = command.stderr(Stdio::piped()).spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line + "\n")));
        Self { child, lines, log: String::new() }
    }

    /// Reads the log up to a line with this message.
    pub(crate) fn wait_for(&mut self, message: &str) -> serde_json::Value {
        loop {
            let line = match self.lines.recv_timeout(DEADLINE) {
                Ok(line) => line,
                Err(error) => panic!("{error}, and no {message:?} in the log:\n{}", self.log),
            };
            self.log.push_str(&line);
            let parsed: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            if parsed["message"] == message {
                return parsed;
            }
        }
    }

    /// How many lines the log has by now, and how many of them with this message.
    pub(crate) fn count(&mut self, message: &str) -> (usize, usize) {
        self.log.extend(self.lines.try_iter());
        let said = format!("\"message\":\"{message}\"");
        (self.log.lines().count(), self.log.lines().filter(|line| line.contains(&said)).count())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its resident memory, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("proc(5) has it");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// The time that its threads have computed.
    pub(crate) fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let of_thread = |task: std::fs::DirEntry| -> Option<u64> {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok()
        };
        Duration::from_nanos(tasks.filter_map(Result::ok).filter_map(of_thread).sum())
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
        // To the end: its standard error is closed now.
        self.log.extend(self.lines.iter());
        secrets::search("the log of a process", self.log.as_bytes());
    }
}
