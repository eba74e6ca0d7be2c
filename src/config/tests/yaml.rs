use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::config::{
    MAX_DEPTH, MAX_SIZE,
    node::{Node, Value},
    parse,
    problem::Sink,
    yaml::read,
};

/// The tree, in JSON, and the problems.
fn tree(text: &str) -> (String, String) {
    let sink = Sink::default();
    let node = read(text.as_bytes(), &sink);
    (json(&node), sink.finish().to_string())
}

fn json(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".into(),
        Value::Broken => "broken".into(),
        Value::Scalar { text, .. } => format!("{text:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::Map(entries) => {
            let entries: Vec<_> = entries.iter().map(|(key, node)| format!("{:?}:{}", key.text, json(node))).collect();
            format!("{{{}}}", entries.join(","))
        }
    }
}

fn said(text: &[u8]) -> String {
    let sink = Sink::default();
    read(text, &sink);
    sink.finish().to_string()
}

#[test]
fn a_tree_is_what_the_text_says() {
    for (text, expected) in [
        ("", "null"),
        ("a", "\"a\""),
        ("a: 1\nb: [ x, 'y', \"z\\n\" ]\n", r#"{"a":"1","b":["x","y","z\n"]}"#),
        ("a:\n  - b: c\n    d: e\n  - f\n", r#"{"a":[{"b":"c","d":"e"},"f"]}"#),
        ("a:\nb: ~\nc: null\nd: ''\ne: 'null'\n", r#"{"a":null,"b":null,"c":null,"d":"","e":"null"}"#),
        ("a: |\n  one\n  two\n", r#"{"a":"one\ntwo\n"}"#),
        ("# only\n--- # start\na: b # end\n...\n", r#"{"a":"b"}"#),
        ("\u{feff}a: b", r#"{"a":"b"}"#),
        (r#"{"json":[true,1.5,{"is":"yaml"}]}"#, r#"{"json":["true","1.5",{"is":"yaml"}]}"#),
        ("a: b\r\nc: d\r\n", r#"{"a":"b","c":"d"}"#),
    ] {
        assert_eq!(tree(text), (expected.to_owned(), String::new()), "{text:?}");
    }
}

#[test]
fn what_a_configuration_does_not_need_is_a_problem_with_its_place() {
    for (text, tree_is, problem) in [
        ("a: 1\nb: 2\na: 3\n", r#"{"a":"1","b":"2"}"#, "line 3: a: the key `a` is written twice, first in line 1"),
        ("x:\n  - a: 1\n    a: 2\n", r#"{"x":[{"a":"1"}]}"#, "line 3: x[0].a: the key `a` is written twice"),
        ("x: &a 1\n", r#"{"x":"1"}"#, "line 1: x: an anchor (`&name`) stands here"),
        ("x:\n  - &a [ 1 ]\n", r#"{"x":[["1"]]}"#, "line 2: x[0]: an anchor"),
        ("x: !secret 1\n", r#"{"x":"1"}"#, "line 1: x: a tag (`!name`) stands here"),
        ("x: !!binary aGk=\n", r#"{"x":"aGk="}"#, "line 1: x: a tag"),
        ("? [ a ]\n: b\nc: d\n", r#"{"c":"d"}"#, "line 1: a key is a list"),
        ("{ a: b }: c\n", "{}", "line 1: a key is a mapping"),
        ("x:\n  ~: c\n", r#"{"x":{}}"#, "line 2: x: a key is nothing"),
        ("a: b\n---\nc: d\n---\ne: f\n", r#"{"a":"b"}"#, "line 2: a second YAML document begins here"),
        ("a: [ b\n", "broken", "not YAML"),
        ("a: b: c\n", "broken", "not YAML"),
        ("a:\n\tb: c\n", "broken", "not YAML"),
        ("a: 'b\n", "broken", "not YAML"),
        ("a: *b\n", "broken", "line 1: a: not YAML: while parsing node, found unknown anchor"),
        ("a: @b\n", "broken", "not YAML: unexpected character: `@'"),
    ] {
        let (tree, said) = tree(text);
        assert_eq!(tree, tree_is, "{text:?}");
        assert!(said.contains(problem), "{text:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{text:?}: {said}");
    }
}

#[test]
fn an_alias_is_a_problem_and_never_grows() {
    let (tree, problems) = tree("a: &a [ x, x ]\nb: [ *a, *a ]\nc: d\n");
    assert_eq!(tree, r#"{"a":["x","x"],"b":[broken,broken],"c":"d"}"#);
    assert!(problems.contains("line 2: b[0]: an alias (`*name`)") && problems.contains("line 2: b[1]: an alias"));
    // A key that is an alias goes, with its value.
    assert!(said(b"a: &a x\n*a : y\n").contains("line 2: an alias"));
}

#[test]
fn bytes_that_are_no_text_are_a_problem_with_a_line() {
    assert_eq!(said(b"a: b\nc: \xff\n"), "line 2: the file holds bytes that are not UTF-8; expected YAML in UTF-8");
}

#[test]
fn size_is_bounded() {
    let padding = |len: usize| format!("a: b\n{}", "#".repeat(len - 5));
    assert_eq!(said(padding(MAX_SIZE).as_bytes()), "");
    assert_eq!(said(padding(MAX_SIZE + 1).as_bytes()), "the file has 1048577 bytes; expected at most 1048576 bytes");
}

#[test]
fn depth_is_bounded() {
    let flow = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(said(flow(MAX_DEPTH).as_bytes()), "");
    assert!(said(flow(MAX_DEPTH + 1).as_bytes()).contains("nested too deeply; expected at most 32 levels"));
    let block = |depth: usize| (0..depth).map(|n| format!("{}k:\n", " ".repeat(n))).collect::<String>();
    assert_eq!(said(block(MAX_DEPTH).as_bytes()), "");
    assert!(said(block(MAX_DEPTH + 1).as_bytes()).contains("nested too deeply"));
    // One that has no end is not read to its end.
    for open in ["[", "{a: ", "- ", "? ", "[{"] {
        let said = said(open.repeat(100_000).as_bytes());
        // The parser's own limit, of 255, where it reads ahead.
        assert!(said.contains("nested too deeply") || said.contains("recursion limit"), "{open}: {said}");
    }
}

/// Large files, each of one thing over and over. The bound is generous, for a debug build on a busy machine, and far
/// below what a quadratic cost would take.
#[test]
fn nothing_large_takes_long() {
    const SIZE: usize = MAX_SIZE / 4;
    for unit in [
        "a: b\n", "- a\n", "\n", " ", "#\n", "a\n", "'", "\"", "|", "a: |\n", "? a\n", "&a ", "!a ", "%", ",", ": ",
        "{}: ", "\t", "a:", "*a ", "--- a\n", "é",
    ] {
        let file = unit.repeat(SIZE / unit.len());
        let started = Instant::now();
        parse(file.as_bytes());
        let took = started.elapsed();
        assert!(took < Duration::from_secs(20), "{unit:?} took {took:?}");
    }
    let keys: String = (0..25_000).map(|n| format!("k{n:06}: 1\n")).collect();
    let nested: String = (0..12_000).map(|n| format!("- name: n{n}\n  x: 1\n")).collect();
    for file in [keys.clone(), format!("listeners:\n{nested}"), format!("trust: {{ {} }}", keys.replace('\n', ", "))] {
        let started = Instant::now();
        parse(&file.as_bytes()[..file.len().min(SIZE)]);
        let took = started.elapsed();
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_document(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        parse(&bytes);
    }

    #[test]
    fn any_text_ends_in_a_document(text in any::<String>()) {
        parse(text.as_bytes());
    }

    /// Text of what YAML is made of gets further than random bytes.
    #[test]
    fn anything_like_yaml_ends_in_a_document(parts in prop::collection::vec(prop::sample::select(PARTS), 0..64)) {
        parse(parts.concat().as_bytes());
    }
}

const PARTS: &[&str] = &[
    "\n",
    "\n  ",
    "\n    ",
    " ",
    "\t",
    "- ",
    "? ",
    ": ",
    ":",
    ",",
    "[",
    "]",
    "{",
    "}",
    "#",
    "&a ",
    "*a",
    "!t ",
    "!!str ",
    "|",
    ">",
    "|+2",
    "'",
    "\"",
    "\\",
    "%YAML 1.2\n",
    "%TAG ! x\n",
    "---",
    "...",
    "~",
    "null",
    "true",
    "1",
    "10s",
    "a",
    "é",
    "\u{feff}",
    "\0",
    "\u{85}",
    "\u{2028}",
    "\r",
    "\r\n",
    "<<: ",
    "listeners",
    "upstreams",
    "name: ",
    "listen: ",
    "tls: ",
    "routes: ",
    "identities: ",
    "trust: ",
    "quic://[::]:1",
    "quic+plaintext://",
    "requested",
    "dial: ",
    "admin: ",
];
