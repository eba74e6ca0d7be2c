//! The repository's files in memory, and Rust source reduced to what rules look at.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// One text file: its path from the root of the repository, with `/`, and its contents.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    pub(super) path: String,
    pub(super) text: String,
    tests_only: bool,
}

impl SourceFile {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let tests_only = path.ends_with("/tests.rs") || path.contains("/tests/");
        Self { path: path.to_owned(), text: text.to_owned(), tests_only }
    }

    /// The modules this file stands for: `src/tls/server.rs` and `src/tls/server/mod.rs` are `["tls", "server"]`.
    pub(super) fn module(&self, folder: &str) -> Vec<&str> {
        let inside = self.path.strip_prefix(folder).unwrap_or(&self.path).trim_end_matches(".rs");
        inside.split('/').filter(|part| !matches!(*part, "mod" | "lib" | "main")).collect()
    }

    /// Where the modules that it declares have their files.
    pub(super) fn child_folder(&self) -> String {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        match name {
            "mod.rs" | "lib.rs" | "main.rs" => format!("{folder}/"),
            _ => format!("{folder}/{}/", name.trim_end_matches(".rs")),
        }
    }

    /// Whether the file holds tests, or help for them, only.
    pub(super) fn is_test(&self) -> bool {
        self.tests_only
    }

    /// The text with comments and contents of literals as spaces.
    pub(super) fn without_comments(&self) -> String {
        blank(&self.text)
    }

    /// The text without comments, contents of literals, and modules under `#[cfg(test)]`.
    pub(super) fn code(&self) -> String {
        without_tests(&blank(&self.text))
    }
}

/// Every text file but build output and the hidden folders of tools.
pub(super) struct Repository {
    pub(super) files: Vec<SourceFile>,
}

impl Repository {
    pub(super) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        walk(root, root, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        mark_tests(&mut files);
        Self { files }
    }

    /// The Rust files below `folder`.
    pub(super) fn rust(&self, folder: &str) -> Vec<SourceFile> {
        self.files.iter().filter(|f| f.path.starts_with(folder) && f.path.ends_with(".rs")).cloned().collect()
    }

    pub(super) fn with_extensions(&self, extensions: &[&str]) -> Vec<SourceFile> {
        let wanted =
            |f: &&SourceFile| Path::new(&f.path).extension().is_some_and(|e| extensions.iter().any(|x| e == *x));
        self.files.iter().filter(wanted).cloned().collect()
    }

    /// The contents of one file, empty when it is not there.
    pub(super) fn text(&self, path: &str) -> &str {
        self.files.iter().find(|f| f.path == path).map_or("", |f| &f.text)
    }
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) {
    let entries = fs::read_dir(folder).expect("a folder of the repository is readable");
    for entry in entries {
        let path: PathBuf = entry.expect("a folder of the repository is readable").path();
        let name = path.file_name().expect("entries have names").to_string_lossy().into_owned();
        let hidden = name.starts_with('.') && !matches!(name.as_str(), ".ci" | ".gitignore");
        let built = matches!(name.as_str(), "target" | "out" | "corpus" | "artifacts" | "__pycache__");
        if path.is_symlink() || hidden || built {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let inside = path.strip_prefix(root).expect("walked from the root");
            files.push(SourceFile::new(&inside.to_string_lossy().replace('\\', "/"), &text));
        }
    }
}

/// Marks what `#[cfg(test)] mod name;` leads to.
fn mark_tests(files: &mut [SourceFile]) {
    let mut places = Vec::new();
    for file in files.iter().filter(|f| f.path.ends_with(".rs")) {
        let code = file.without_comments();
        for (at, attribute) in code.match_indices("#[cfg(test)]") {
            let item = &code[at + attribute.len()..];
            let words = words(&item[..item.find(['{', ';']).map_or(item.len(), |end| end + 1)]);
            if let [.., "mod", name, ";"] = words[..] {
                places.push(format!("{}{name}", file.child_folder()));
            }
        }
    }
    for file in files {
        file.tests_only |= places.iter().any(|place| {
            file.path.strip_prefix(place.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
    }
}

/// Comments and contents of literals as spaces; newlines stay, so that lines can still be counted.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => find(bytes, at, b"\n"),
            b'/' if bytes[at..].starts_with(b"/*") => block_comment(bytes, at),
            b'r' | b'b' | b'c' if !at.checked_sub(1).is_some_and(|i| is_word(bytes[i])) => {
                match raw_string(bytes, at) {
                    Some(end) => end,
                    None => {
                        at += 1;
                        continue;
                    }
                }
            }
            b'"' => string(bytes, at),
            b'\'' => match character(bytes, at) {
                Some(end) => end,
                None => {
                    at += 1;
                    continue;
                }
            },
            _ => {
                at += 1;
                continue;
            }
        };
        out[at..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
        at = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    bytes[from..].windows(what.len()).position(|w| w == what).map_or(bytes.len(), |i| from + i)
}

fn block_comment(bytes: &[u8], from: usize) -> usize {
    let (mut depth, mut at) = (0, from);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if bytes[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The end of `r"..."`, `br#"..."#` and the like.
fn raw_string(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while matches!(bytes.get(at), Some(b'b' | b'c')) {
        at += 1;
    }
    if bytes.get(at) != Some(&b'r') {
        return None;
    }
    let hashes = bytes[at + 1..].iter().take_while(|b| **b == b'#').count();
    if bytes.get(at + 1 + hashes) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    Some((find(bytes, at + 2 + hashes, &close) + close.len()).min(bytes.len()))
}

fn string(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The end of a character literal; `None` for a lifetime.
fn character(bytes: &[u8], from: usize) -> Option<usize> {
    if bytes.get(from + 1) == Some(&b'\\') {
        return Some((find(bytes, from + 3, b"'") + 1).min(bytes.len()));
    }
    let width = match bytes.get(from + 1)? {
        0x00..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    (bytes.get(from + 1 + width) == Some(&b'\'')).then_some(from + 2 + width)
}

/// `code` without modules under `#[cfg(test)]`; expects blanked text.
fn without_tests(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find("#[cfg(test)]") {
        out.push_str(&rest[..start]);
        let item = &rest[start..];
        let end = item.find([';', '{']).map_or(item.len(), |at| match item.as_bytes()[at] {
            b'{' => matching_brace(item, at),
            _ => at + 1,
        });
        rest = &item[end..];
    }
    out.push_str(rest);
    out
}

fn matching_brace(text: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// Identifiers, `::`, and other punctuation one character at a time.
pub(super) fn words(code: &str) -> Vec<&str> {
    let bytes = code.as_bytes();
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut words = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = if word(bytes[at]) {
            at + bytes[at..].iter().take_while(|b| word(**b)).count()
        } else if bytes[at..].starts_with(b"::") {
            at + 2
        } else if !bytes[at].is_ascii() || bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        } else {
            at + 1
        };
        words.push(&code[at..end]);
        at = end;
    }
    words
}

#[test]
fn comments_literals_and_tests_are_no_code() {
    let code = |text| SourceFile::new("src/a.rs", text).code();
    assert_eq!(code("a // crate::b\nc").trim_end(), "a            \nc");
    assert!(!code("/* x /* crate::b */ crate::c */ d").contains("crate"));
    assert!(!code(r###"let x = r#"crate::b " crate::c"#; y"###).contains("crate"));
    assert!(code(r###"let x = r#"b"#; crate::y"###).contains("crate::y"));
    assert!(!code(r#"let x = "crate::b \" crate::c"; y"#).contains("crate"));
    assert!(code("let q = '\"'; crate::y; let r = '\"';").contains("crate::y"));
    assert!(code("fn f<'a>(x: &'a str) { crate::y }").contains("crate::y"));
    assert_eq!(code("a\n#[cfg(test)]\nmod tests { use crate::b; fn f() {} }\nc").replace('\n', ""), "ac");
    assert_eq!(code("#[cfg(test)]\nmod tests;\nc").trim(), "c");
}

#[test]
fn help_for_tests_is_tests() {
    let mut files = [
        SourceFile::new("src/a/mod.rs", "#[cfg(test)]\npub(crate) mod testing;\nmod real;\n#[cfg(test)]\nuse x::y;"),
        SourceFile::new("src/a/testing.rs", ""),
        SourceFile::new("src/a/testing/more.rs", ""),
        SourceFile::new("src/a/testing_grounds.rs", ""),
        SourceFile::new("src/a/real.rs", ""),
        SourceFile::new("src/a/tests.rs", ""),
    ];
    mark_tests(&mut files);
    assert_eq!(files.map(|f| f.is_test()), [false, true, true, false, false, true]);
}

#[test]
fn a_path_is_a_module() {
    assert_eq!(SourceFile::new("src/tls/server.rs", "").module("src/"), ["tls", "server"]);
    assert_eq!(SourceFile::new("src/tls/mod.rs", "").module("src/"), ["tls"]);
    assert!(SourceFile::new("src/lib.rs", "").module("src/").is_empty());
}
