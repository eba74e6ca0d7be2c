//! A bounded queue of lines in front of a writer that may stall.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use super::Format;

/// The most lines that wait. A line has about 500 bytes.
const QUEUE: usize = 4_096;

/// How long [`Flush`] waits for a reader that stalls.
const FLUSH: Duration = Duration::from_secs(2);

/// The queue's far end.
#[derive(Debug)]
pub struct Lines {
    queue: SyncSender<Message>,
    left_out: Arc<AtomicU64>,
}

enum Message {
    Line(Vec<u8>),
    /// Answered when everything before it is written.
    Flush(SyncSender<()>),
}

/// Writes out what is queued when dropped, for at most two seconds.
#[derive(Debug)]
#[must_use = "lines that are still queued are lost without it"]
pub struct Flush(Arc<Lines>);

pub(super) fn start(to: impl Write + Send + 'static, format: Format) -> io::Result<(Arc<Lines>, Flush)> {
    let (queue, messages) = sync_channel(QUEUE);
    let left_out = Arc::new(AtomicU64::new(0));
    let lines = Arc::new(Lines { queue, left_out: Arc::clone(&left_out) });
    // It lives as long as the process: the log is the last thing to go.
    thread::Builder::new().name("log".to_owned()).spawn(move || write_all(to, &messages, &left_out, format))?;
    Ok((Arc::clone(&lines), Flush(lines)))
}

fn write_all(mut to: impl Write, messages: &Receiver<Message>, left_out: &AtomicU64, format: Format) {
    while let Ok(message) = messages.recv() {
        match message {
            Message::Line(line) => {
                // Nowhere to report it: the log itself is gone.
                let _ = to.write_all(&line);
            }
            Message::Flush(answer) => {
                let _ = to.flush();
                let _ = answer.try_send(());
            }
        }
        let lost = left_out.swap(0, Relaxed);
        if lost > 0 {
            let _ = match format {
                Format::Text => writeln!(to, "{lost} lines left out of the log: standard error was not read in time"),
                Format::Json => writeln!(
                    to,
                    r#"{{"level":"WARN","message":"lines left out of the log: standard error was not read in time","lines":{lost}}}"#
                ),
            };
        }
    }
}

impl Write for &Lines {
    /// Takes a whole line; the formatter writes each event with one call.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Line(line.to_vec())) {
            self.left_out.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        let deadline = Instant::now() + FLUSH;
        let (answer, written) = sync_channel(1);
        let mut message = Message::Flush(answer);
        while let Err(TrySendError::Full(back)) = self.0.queue.try_send(message) {
            if Instant::now() >= deadline {
                return;
            }
            message = back;
            thread::sleep(Duration::from_millis(5));
        }
        let _ = written.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}
