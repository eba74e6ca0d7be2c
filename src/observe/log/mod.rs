//! The log: lines for people or JSON objects, on standard error, times in RFC 3339 and UTC.

mod writer;

use std::{io, panic};

use tracing::{Level, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
};

pub use writer::Flush;

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts the log of the process and sends panics to it. Keep what is returned until the end: it writes out what is
/// queued when it is dropped.
///
/// Lines are written by a thread of their own, so that a reader of standard error that stalls holds up no worker; what
/// its queue cannot hold is left out and counted.
///
/// # Errors
///
/// When the process has a log already, or the thread cannot be made.
pub fn init(format: Format, level: Level) -> io::Result<Flush> {
    let (lines, flush) = writer::start(io::stderr(), format)?;
    tracing::subscriber::set_global_default(subscriber(format, level, lines)).map_err(io::Error::other)?;
    panic::set_hook(Box::new(report_panic));
    Ok(flush)
}

/// What [`init`] installs, with any writer: for tests, which look at the lines.
pub fn subscriber<W>(format: Format, level: Level, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // Libraries speak of every packet below `warn`, unbounded by us: only on request.
    let libraries = if level == Level::TRACE { LevelFilter::DEBUG } else { LevelFilter::WARN.min(level.into()) };
    let filter = Targets::new().with_default(libraries).with_target("iris", level);
    let layer = fmt::layer().with_writer(writer).with_ansi(false);
    match format {
        Format::Text => Box::new(tracing_subscriber::registry().with(layer.with_target(false).with_filter(filter))),
        Format::Json => {
            Box::new(tracing_subscriber::registry().with(
                layer.json().flatten_event(true).with_current_span(false).with_span_list(false).with_filter(filter),
            ))
        }
    }
}

/// A panic ends one connection, not the process: it is an error like any other, with the place it happened at.
fn report_panic(panic: &panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let thread = std::thread::current();
    let payload = panic.payload();
    let cause =
        payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    tracing::error!(place, thread = thread.name(), cause, "panic");
}

#[cfg(test)]
mod tests;
