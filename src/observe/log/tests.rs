use std::{
    io::{self, Write},
    sync::{Arc, Mutex, mpsc},
};

use super::*;

/// A writer that keeps what it is given.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(format: Format, level: Level, events: impl FnOnce()) -> String {
    let kept = Kept::default();
    let writer = kept.clone();
    tracing::subscriber::with_default(subscriber(format, level, move || writer.clone()), events);
    kept.text()
}

#[test]
fn json_lines_are_objects_with_utc_times() {
    let text = logged(Format::Json, Level::INFO, || tracing::info!(component = "edge", bytes = 7_u64, "a \"line\"\n"));
    assert_eq!(text.lines().count(), 1);
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["message"], "a \"line\"\n");
    assert_eq!(line["component"], "edge");
    assert_eq!(line["bytes"], 7);
    assert_eq!(line["level"], "INFO");
    let time = line["timestamp"].as_str().unwrap();
    time::OffsetDateTime::parse(time, &time::format_description::well_known::Rfc3339).unwrap();
    assert!(time.ends_with('Z'), "{time}");
}

#[test]
fn text_lines_quote_what_could_forge_a_field() {
    let text = logged(Format::Text, Level::INFO, || tracing::info!(text = "bye reason=peer\n2026", "ended"));
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(r#"ended text="bye reason=peer\n2026""#), "{text}");
}

#[test]
fn the_level_holds_and_libraries_stay_quiet() {
    let text = logged(Format::Text, Level::INFO, || {
        tracing::debug!("ours, too low");
        tracing::info!(target: "quinn_proto", "of a packet");
        tracing::warn!(target: "quinn_proto", "of a socket");
    });
    assert!(!text.contains("too low") && !text.contains("packet") && text.contains("of a socket"), "{text}");
    let text = logged(Format::Text, Level::ERROR, || tracing::warn!(target: "quinn_proto", "of a socket"));
    assert_eq!(text, "");
}

#[test]
fn queued_lines_are_written_when_the_guard_is_dropped() {
    let kept = Kept::default();
    let (lines, flush) = writer::start(kept.clone(), Format::Text).unwrap();
    for _ in 0..100 {
        (&*lines).write_all(b"line\n").unwrap();
    }
    drop(flush);
    assert_eq!(kept.text(), "line\n".repeat(100));
}

#[test]
fn a_reader_that_stalls_holds_up_nobody_and_the_loss_is_told() {
    /// Writes nothing until it is let go.
    struct Stalled(mpsc::Receiver<()>, Kept);
    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (let_go, gate) = mpsc::channel();
    let kept = Kept::default();
    let (lines, flush) = writer::start(Stalled(gate, kept.clone()), Format::Text).unwrap();
    for _ in 0..10_000 {
        (&*lines).write_all(b"line\n").unwrap();
    }
    drop(let_go);
    drop(flush);
    let text = kept.text();
    let written = text.lines().filter(|line| *line == "line").count();
    let told: usize = text
        .lines()
        .filter_map(|line| line.split_once(" lines left out"))
        .map(|(n, _)| n.parse::<usize>().unwrap())
        .sum();
    assert_eq!(written + told, 10_000);
    assert!((4_096..=4_098).contains(&written), "{written}");
}
