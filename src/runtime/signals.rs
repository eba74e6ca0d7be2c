//! The process's signals.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT.
#[derive(Debug)]
pub struct Termination {
    terminate: Signal,
    interrupt: Signal,
}

impl Termination {
    /// Takes over both from the default disposition, at once. Needs a runtime.
    ///
    /// # Errors
    ///
    /// The operating system refuses a handler.
    pub fn install() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Completes at the next of either, with its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// SIGHUP.
#[derive(Debug)]
pub struct Hangup(Signal);

impl Hangup {
    /// Takes it over from the default disposition, which would end the process. Needs a runtime.
    ///
    /// # Errors
    ///
    /// The operating system refuses a handler.
    pub fn install() -> io::Result<Self> {
        signal(SignalKind::hangup()).map(Self)
    }

    /// Completes at the next one. Several at a time may be one.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            // The driver is gone: there will be none any more.
            std::future::pending::<()>().await;
        }
    }
}
