//! Tells a story of expectations and figures: for people as text, for machines as one JSON object a line.

use std::{
    fmt,
    io::{self, Write},
    time::{Duration, Instant},
};

use serde::Serialize;
use serde_json::json;

/// A measured number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: &'static str,
    /// How much.
    pub value: f64,
    /// In what; empty for a count.
    pub unit: &'static str,
}

impl Figure {
    /// A number of things.
    #[expect(clippy::cast_precision_loss, reason = "counts of a demonstration are far below 2^52")]
    pub fn count(name: &'static str, value: u64) -> Self {
        Self { name, value: value as f64, unit: "" }
    }

    /// A time, in milliseconds.
    pub fn time(name: &'static str, value: Duration) -> Self {
        Self { name, value: value.as_secs_f64() * 1_000.0, unit: "ms" }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.value.fract() == 0.0 { 0 } else { 1 };
        write!(f, "{} {:.digits$}", self.name, self.value)?;
        if self.unit.is_empty() { Ok(()) } else { write!(f, " {}", self.unit) }
    }
}

/// Tells the story and keeps count.
#[derive(Debug)]
pub struct Narrator<W> {
    out: W,
    json: bool,
    started: Instant,
    held: u32,
    failed: u32,
}

impl<W: Write> Narrator<W> {
    /// Tells to `out`.
    pub fn new(out: W, json: bool) -> Self {
        Self { out, json, started: Instant::now(), held: 0, failed: 0 }
    }

    /// A part of the story begins.
    ///
    /// # Errors
    /// `out` takes no more.
    pub fn chapter(&mut self, title: &str) -> io::Result<()> {
        if self.json {
            self.line(&json!({ "event": "chapter", "title": title }))
        } else {
            writeln!(self.out, "\n{title}")
        }
    }

    /// Something that is not measured.
    ///
    /// # Errors
    /// `out` takes no more.
    pub fn tell(&mut self, text: &str) -> io::Result<()> {
        if self.json { self.line(&json!({ "event": "note", "text": text })) } else { writeln!(self.out, "  {text}") }
    }

    /// What was expected, and what was measured; or what happened in its place.
    ///
    /// # Errors
    /// `out` takes no more.
    pub fn expect(&mut self, what: &str, outcome: Result<Vec<Figure>, String>) -> io::Result<()> {
        let (held, figures, instead) = match outcome {
            Ok(figures) => (true, figures, None),
            Err(instead) => (false, Vec::new(), Some(instead)),
        };
        *(if held { &mut self.held } else { &mut self.failed }) += 1;
        if self.json {
            return self.line(&json!({
                "event": "expectation", "what": what, "held": held, "figures": figures, "instead": instead,
            }));
        }
        write!(self.out, "  {}  {what}", if held { "ok    " } else { "FAILED" })?;
        if let Some(instead) = instead {
            write!(self.out, ": {instead}")?;
        } else if !figures.is_empty() {
            let figures: Vec<String> = figures.iter().map(ToString::to_string).collect();
            write!(self.out, " ({})", figures.join(", "))?;
        }
        writeln!(self.out)
    }

    /// The end of the story. True when there were expectations and every one held.
    ///
    /// # Errors
    /// `out` takes no more.
    pub fn finish(mut self) -> io::Result<bool> {
        let seconds = self.started.elapsed().as_secs_f64();
        let (held, failed) = (self.held, self.failed);
        let ok = failed == 0 && held > 0;
        if self.json {
            self.line(&json!({ "event": "end", "ok": ok, "held": held, "failed": failed, "seconds": seconds }))?;
        } else {
            writeln!(self.out, "\n{held} of {} expectations held, in {seconds:.1} s", held + failed)?;
        }
        self.out.flush()?;
        Ok(ok)
    }

    fn line(&mut self, value: &serde_json::Value) -> io::Result<()> {
        writeln!(self.out, "{value}")
    }
}
