//! PEM (RFC 7468), strictly and byte by byte: never fewer blocks than BEGIN lines, nothing skipped in silence, and a
//! name for every way in which a file can fail to be PEM.

mod base64;
mod block;
#[cfg(test)]
mod tests;

pub use block::{Block, Label};

use super::{
    der,
    reason::{Fault, Reason},
};

/// All blocks of a file, in order. A file of text without any block has none; a file of nothing is a fault.
pub fn read(bytes: &[u8]) -> Result<Vec<Block>, Fault> {
    recognise(bytes)?;
    let mut reader = Reader::default();
    for (number, line) in lines(bytes).enumerate() {
        reader.line(number + 1, line.trim_ascii())?;
    }
    reader.finish()
}

/// Files that are not even text.
fn recognise(bytes: &[u8]) -> Result<(), Fault> {
    if bytes.is_empty() {
        return Err(Fault::new(Reason::Empty, "the file has no bytes"));
    }
    if bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Err(Fault::new(Reason::Empty, "the file holds only white space or NUL bytes"));
    }
    let wide = [&b"-\0-\0-\0"[..], b"\0-\0-\0-", b"-\0\0\0-\0\0\0", b"\0\0\0-\0\0\0-"];
    let marks = [&b"\xff\xfe"[..], b"\xfe\xff", b"\0\0\xfe\xff"];
    if marks.iter().any(|mark| bytes.starts_with(mark))
        || wide.iter().any(|dashes| bytes.windows(dashes.len()).any(|window| window == *dashes))
    {
        return Err(Fault::new(Reason::PemEncoding, "the file is UTF-16 or UTF-32; save it as ASCII or UTF-8"));
    }
    // No text begins with "0" and a byte above 0x7f. The other one is a Java key store.
    let binary = bytes[0] == der::SEQUENCE && (bytes.get(1).is_some_and(|b| *b >= 0x80) || der::is_one_sequence(bytes));
    if (binary || bytes.starts_with(b"\xfe\xed\xfe\xed")) && !contains(bytes, b"-----BEGIN ") {
        let detail = "the file is binary (DER, PKCS#12 or a Java key store); convert it to PEM";
        return Err(Fault::new(Reason::NotPem, detail));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(Fault::new(Reason::PemMalformed, format!("a NUL byte at offset {at}")));
    }
    Ok(())
}

/// Lines that end in LF, CR LF or CR.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            rest = None;
            return Some(text);
        };
        let width = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = Some(&text[end + width..]);
        Some(&text[..end])
    })
}

/// A line without the byte order mark that some editors, and `cat` of their files, leave in front of it.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").map_or(line, <[u8]>::trim_ascii)
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    open: Option<Open>,
    /// Something other than comments stood outside the blocks.
    text: bool,
    /// A line outside the blocks that was meant to be a BEGIN line and is none.
    near_miss: Option<usize>,
}

struct Open {
    label: String,
    line: usize,
    base64: Vec<u8>,
    headers: Headers,
    encrypted: bool,
}

#[derive(PartialEq)]
enum Headers {
    /// Nothing of the block was read yet.
    Possible,
    /// Inside; an empty line ends them.
    Inside,
    /// Over, and there were some.
    Past,
    /// There are none.
    Absent,
}

impl Reader {
    fn line(&mut self, number: usize, line: &[u8]) -> Result<(), Fault> {
        match self.open.take() {
            None => self.outside(number, without_mark(line)),
            Some(open) => self.inside(number, line, open),
        }
    }

    fn outside(&mut self, number: usize, line: &[u8]) -> Result<(), Fault> {
        if line.starts_with(b"-----BEGIN") {
            let label =
                marker(line, b"-----BEGIN ").ok_or_else(|| malformed(number, "not a well-formed BEGIN line"))?;
            self.open = Some(Open {
                label: label.to_owned(),
                line: number,
                base64: Vec::new(),
                headers: Headers::Possible,
                encrypted: false,
            });
        } else if line.starts_with(b"-----END") {
            return Err(malformed(number, "an END line without its BEGIN"));
        } else if has_inner_marker(line) {
            return Err(malformed(number, "a BEGIN in the middle of a line; a line end is missing in front of it"));
        } else if !line.is_empty() {
            self.text |= !line.starts_with(b"#");
            let lower = line.to_ascii_lowercase();
            // Lower case, dashes that an editor made typographic, four of them in place of five.
            if !line.starts_with(b"#") && contains(&lower, b"begin ") && !line[0].is_ascii_alphanumeric() {
                let marked = [&b"certificate"[..], b"private key", b"x509 crl"];
                if marked.iter().any(|word| contains(&lower, word)) {
                    self.near_miss.get_or_insert(number);
                }
            }
        }
        Ok(())
    }

    fn inside(&mut self, number: usize, line: &[u8], mut open: Open) -> Result<(), Fault> {
        if without_mark(line).starts_with(b"-----BEGIN") {
            let detail = format!("the block that begins in line {} has no END before line {number}", open.line);
            return Err(Fault::new(Reason::Truncated, detail));
        }
        if line.starts_with(b"-----END") {
            if marker(line, b"-----END ") != Some(open.label.as_str()) {
                return Err(malformed(number, &format!("this END does not match the BEGIN of line {}", open.line)));
            }
            self.blocks.push(open.close()?);
            return Ok(());
        }
        // Headers may be any text, but no block may hide behind one.
        if has_inner_marker(line) {
            return Err(malformed(number, "a BEGIN in the middle of a line, inside another block"));
        }
        open.content(number, line)?;
        self.open = Some(open);
        Ok(())
    }

    fn finish(self) -> Result<Vec<Block>, Fault> {
        if let Some(open) = self.open {
            let detail = format!("the file ends inside the block that begins in line {}", open.line);
            return Err(Fault::new(Reason::Truncated, detail));
        }
        match self.near_miss {
            Some(line) if !self.blocks.is_empty() => {
                Err(malformed(line, "almost a BEGIN line; labels are upper case between five hyphens"))
            }
            _ if self.blocks.is_empty() && !self.text => {
                Err(Fault::new(Reason::Empty, "the file holds only white space and comments"))
            }
            _ => Ok(self.blocks),
        }
    }
}

impl Open {
    fn content(&mut self, number: usize, line: &[u8]) -> Result<(), Fault> {
        match self.headers {
            Headers::Inside if line.is_empty() => self.headers = Headers::Past,
            Headers::Inside => self.encrypted |= is_encryption_header(line),
            Headers::Possible if line.contains(&b':') => {
                self.headers = Headers::Inside;
                self.encrypted |= is_encryption_header(line);
            }
            _ => {
                if let Some(odd) = line.iter().find(|byte| !base64::is_member(**byte)) {
                    return Err(malformed(number, &format!("byte 0x{odd:02x} is not base64")));
                }
                if !line.is_empty() && self.headers == Headers::Possible {
                    self.headers = Headers::Absent;
                }
                self.base64.extend(line.iter().filter(|byte| !byte.is_ascii_whitespace()));
            }
        }
        Ok(())
    }

    fn close(self) -> Result<Block, Fault> {
        let label = Label::parse(&self.label);
        let block = |content| Block { label, line: self.line, content, encrypted: self.encrypted };
        if self.encrypted {
            return Ok(block(Vec::new()));
        }
        if matches!(self.headers, Headers::Inside | Headers::Past) {
            return Err(malformed(self.line, "the block bears RFC 1421 headers"));
        }
        if self.base64.is_empty() {
            let detail = format!("nothing between BEGIN and END in line {}", self.line);
            return Err(Fault::new(Reason::Truncated, detail));
        }
        let content = base64::decode(&self.base64)
            .ok_or_else(|| malformed(self.line, "the base64 of this block is cut or badly padded"))?;
        Ok(block(content))
    }
}

/// The label of a BEGIN or END line (RFC 7468 section 3), at most 64 bytes of upper case.
fn marker<'a>(line: &'a [u8], prefix: &[u8]) -> Option<&'a str> {
    let label = line.strip_prefix(prefix)?.strip_suffix(b"-----")?;
    let fits = !label.is_empty()
        && label.len() <= 64
        && label.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'.' | b'/' | b'_' | b'#'))
        && label.trim_ascii() == label;
    fits.then(|| std::str::from_utf8(label).expect("checked to be ASCII"))
}

/// A whole BEGIN marker that does not stand at the head of its line.
fn has_inner_marker(line: &[u8]) -> bool {
    const BEGIN: &[u8] = b"-----BEGIN ";
    (0..line.len()).filter(|at| line[*at..].starts_with(BEGIN)).any(|at| {
        let label = &line[at + BEGIN.len()..];
        let end = label.iter().position(|byte| *byte == b'-').unwrap_or(label.len());
        label[end..].starts_with(b"-----")
    })
}

fn is_encryption_header(line: &[u8]) -> bool {
    line.starts_with(b"Proc-Type:") && contains(line, b"ENCRYPTED")
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn malformed(line: usize, what: &str) -> Fault {
    Fault::new(Reason::PemMalformed, format!("line {line}: {what}"))
}
