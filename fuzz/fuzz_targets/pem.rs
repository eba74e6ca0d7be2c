//! Any bytes as a PEM file: what is accepted has as many blocks as another way of counting finds, and the file holds the
//! text of each, in order. What is refused is refused in words.
#![no_main]

mod common;

use iris::material::pem;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = common::text(bytes, &["CERTIFICATE"]);
    let blocks = match pem::read(&text) {
        Ok(blocks) => blocks,
        Err(fault) => return assert!(!fault.detail.is_empty() && !fault.detail.contains(['\n', '\r', '\0'])),
    };
    assert_eq!(blocks.len(), heads(&text), "{}", String::from_utf8_lossy(&text));
    let packed: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let mut from = 0;
    for block in blocks.iter().filter(|block| !block.encrypted) {
        let content = common::base64(&block.content);
        let at = packed[from..].windows(content.len()).position(|window| window == content.as_bytes());
        from += at.expect("the text of every block") + content.len();
    }
});

/// Places that read like the head of a block, wherever they stand.
fn heads(text: &[u8]) -> usize {
    const HEAD: &[u8] = b"-----BEGIN ";
    let is_whole = |label: &[u8]| {
        let end = label.iter().position(|byte| matches!(byte, b'-' | b'\r' | b'\n')).unwrap_or(label.len());
        label[end..].starts_with(b"-----")
    };
    (0..text.len()).filter(|at| text[*at..].starts_with(HEAD) && is_whole(&text[at + HEAD.len()..])).count()
}
