//! YAML text to a value tree. The only file that names the YAML parser.
//!
//! A configuration needs mappings, lists and scalars. What else YAML has makes a file mean something other than it
//! seems to say, or grow when it is read; each is reported with its place: anchors and aliases, tags, keys that are not
//! scalars, a key written twice, a second document.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};

use super::{
    node::{Key, Node, Value},
    problem::{Fault, Sink, Spot, shown},
};

/// The largest file, in bytes.
pub const MAX_SIZE: usize = 1024 * 1024;
/// The deepest nesting of mappings and lists.
pub const MAX_DEPTH: usize = 32;

/// Reads the first document of `bytes`. What cannot be read at all is a [`Value::Broken`] and a problem.
pub(super) fn read(bytes: &[u8], sink: &Sink) -> Node {
    if bytes.len() > MAX_SIZE {
        sink.report(
            &Spot::default(),
            Fault::new(format!("the file has {} bytes", bytes.len()), format!("at most {MAX_SIZE} bytes")),
        );
        return Node::broken(0);
    }
    let text = match str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
            sink.report(
                &Spot { line, ..Spot::default() },
                Fault::new("the file holds bytes that are not UTF-8", "YAML in UTF-8"),
            );
            return Node::broken(0);
        }
    };
    Builder { frames: Vec::new(), root: None, documents: 0, sink }.build(text)
}

struct Builder<'s> {
    frames: Vec<Frame>,
    root: Option<Node>,
    documents: usize,
    sink: &'s Sink,
}

/// A mapping or list whose end has not come yet.
enum Frame {
    List {
        line: usize,
        items: Vec<Node>,
    },
    Map {
        line: usize,
        entries: Vec<(Key, Node)>,
        /// Line of each key, to find those written twice.
        seen: HashMap<String, usize>,
        pending: Pending,
    },
}

/// What the next node of a mapping is.
enum Pending {
    Key,
    ValueOf(Key),
    /// Of a key that was refused: it goes nowhere.
    ValueOfNothing,
}

/// Reading cannot go on; the problem has been reported.
struct Stop;

impl Builder<'_> {
    fn build(mut self, text: &str) -> Node {
        for event in Parser::new_from_str(text) {
            let done = match event {
                Ok((event, span)) => self.event(event, span.start.line()),
                Err(error) => Err(self.syntax(&error)),
            };
            if done.is_err() {
                return Node::broken(0);
            }
        }
        self.root.unwrap_or(Node { value: Value::Null, line: 0 })
    }

    fn event(&mut self, event: Event<'_>, line: usize) -> Result<(), Stop> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents == 2 {
                    let fault = Fault::new("a second YAML document begins here", "one document a file");
                    self.sink.report(&Spot { line, ..Spot::default() }, fault);
                }
                return Ok(());
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => return Ok(()),
            _ if self.documents > 1 => return Ok(()),
            _ => {}
        }
        match event {
            Event::Alias(_) => {
                self.report(line, Fault::new("an alias (`*name`) stands here", "the value itself, written out"));
                self.attach(Node::broken(line));
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.extras(line, anchor, tag.is_some());
                let plain = style == ScalarStyle::Plain;
                let null = plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let value = if null { Value::Null } else { Value::Scalar { text: text.into_owned(), plain } };
                self.attach(Node { value, line });
            }
            Event::SequenceStart(anchor, tag) => {
                self.extras(line, anchor, tag.is_some());
                self.open(Frame::List { line, items: Vec::new() }, line)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.extras(line, anchor, tag.is_some());
                let frame = Frame::Map { line, entries: Vec::new(), seen: HashMap::new(), pending: Pending::Key };
                self.open(frame, line)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(frame) = self.frames.pop() {
                    self.attach(match frame {
                        Frame::List { line, items } => Node { value: Value::List(items), line },
                        Frame::Map { line, entries, .. } => Node { value: Value::Map(entries), line },
                    });
                }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn open(&mut self, frame: Frame, line: usize) -> Result<(), Stop> {
        if self.frames.len() == MAX_DEPTH {
            let fault = Fault::new("mappings and lists are nested too deeply", format!("at most {MAX_DEPTH} levels"));
            self.report(line, fault);
            return Err(Stop);
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Puts a finished node where it belongs.
    fn attach(&mut self, node: Node) {
        let awaits_key = matches!(self.frames.last(), Some(Frame::Map { pending: Pending::Key, .. }));
        let spot = if awaits_key { self.spot(node.line) } else { Spot::default() };
        match self.frames.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, seen, pending, .. }) => {
                *pending = match std::mem::replace(pending, Pending::Key) {
                    Pending::ValueOf(key) => {
                        entries.push((key, node));
                        Pending::Key
                    }
                    Pending::ValueOfNothing => Pending::Key,
                    Pending::Key => key(node, &spot, seen, self.sink),
                };
            }
        }
    }

    fn extras(&self, line: usize, anchor: usize, tagged: bool) {
        if anchor != 0 {
            self.report(line, Fault::new("an anchor (`&name`) stands here", "the value alone"));
        }
        if tagged {
            self.report(line, Fault::new("a tag (`!name`) stands here", "the value alone"));
        }
    }

    fn syntax(&self, error: &ScanError) -> Stop {
        // The parser's own words, which repeat no more of the file than one character.
        let info: String = error.info().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        let message = format!("not YAML: {info} (column {})", error.marker().col() + 1);
        let hint = if info.contains("unknown anchor") {
            Some("a value that begins with `*` stands in quotes")
        } else if info.contains("flow") {
            Some("between brackets or braces, a value that holds one of `[]{},` stands in quotes")
        } else {
            None
        };
        let fault = Fault::new(message, "YAML 1.2").hint(hint.map(str::to_owned));
        self.report(error.marker().line(), fault);
        Stop
    }

    fn report(&self, line: usize, fault: Fault) {
        self.sink.report(&self.spot(line), fault);
    }

    /// Where the next node stands.
    fn spot(&self, line: usize) -> Spot {
        let mut spot = Spot::default();
        for frame in &self.frames {
            spot = match frame {
                Frame::List { items, .. } => spot.index(items.len(), line),
                Frame::Map { pending: Pending::ValueOf(key), .. } => spot.key(&key.text, line),
                Frame::Map { .. } => spot,
            };
        }
        Spot { line, ..spot }
    }
}

/// Takes `node` for a key of the mapping at `spot`.
fn key(node: Node, spot: &Spot, seen: &mut HashMap<String, usize>, sink: &Sink) -> Pending {
    let line = node.line;
    let text = match node.value {
        Value::Scalar { text, .. } => text,
        Value::Broken => return Pending::ValueOfNothing,
        Value::Null | Value::List(_) | Value::Map(_) => {
            sink.report(spot, Fault::new(format!("a key is {}", node.describe()), "a single word as key"));
            return Pending::ValueOfNothing;
        }
    };
    if let Some(first) = seen.get(&text) {
        let message = format!("the key {} is written twice, first in line {first}", shown(&text));
        sink.report(&spot.key(&text, line), Fault::new(message, "each key once"));
        return Pending::ValueOfNothing;
    }
    seen.insert(text.clone(), line);
    Pending::ValueOf(Key { text, line })
}
