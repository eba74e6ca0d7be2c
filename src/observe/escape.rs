//! What peers send, made fit for a log line, a status page and a terminal: bounded, one line, nothing that acts.

use std::fmt::Write as _;

/// The most bytes of one name that are shown.
pub const NAME: usize = 128;

/// The most bytes of a reason text that are shown.
pub const TEXT: usize = 256;

/// The most names of one certificate that are shown.
pub const NAMES: usize = 8;

/// At most `max` bytes of `text`; control characters, characters that reorder or hide text, and backslashes are written
/// as escapes. What was cut is marked with `…`.
pub fn text(text: &str, max: usize) -> String {
    bytes(text.as_bytes(), max)
}

/// The same for bytes; those that are no UTF-8 are written as `\xNN`.
pub fn bytes(bytes: &[u8], max: usize) -> String {
    // Each byte makes at least one byte of output, so what is behind could only be cut.
    let seen = &bytes[..bytes.len().min(max.saturating_add(4))];
    let mut out = String::with_capacity(seen.len());
    let mut piece = String::new();
    let mut push = |piece: &mut String| {
        let fits = out.len() + piece.len() <= max;
        out.push_str(if fits { piece } else { "…" });
        piece.clear();
        fits
    };
    'all: for chunk in seen.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => piece.push_str("\\\\"),
                hidden if is_hidden(hidden) => piece.extend(hidden.escape_unicode()),
                visible => piece.push(visible),
            }
            if !push(&mut piece) {
                break 'all;
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(piece, "\\x{byte:02x}");
            if !push(&mut piece) {
                break 'all;
            }
        }
    }
    out
}

/// The names of a certificate with commas between: at most [`NAMES`] of at most [`NAME`] bytes each, and how many more
/// there are.
pub fn names<N: AsRef<str>>(names: &[N]) -> String {
    let mut out = names.iter().take(NAMES).map(|name| text(name.as_ref(), NAME)).collect::<Vec<_>>().join(",");
    if names.len() > NAMES {
        let _ = write!(out, ",+{}", names.len() - NAMES);
    }
    out
}

/// Control characters (also C1), and format characters that reorder or hide what surrounds them.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_untouched() {
        assert_eq!(text("pylon-7.workers.example", NAME), "pylon-7.workers.example");
        assert_eq!(text("grün", NAME), "grün");
        assert_eq!(bytes(b"h3", NAME), "h3");
    }

    #[test]
    fn what_acts_on_a_terminal_is_escaped() {
        assert_eq!(text("a\nb\x1b[31m\u{9b}c", NAME), "a\\u{a}b\\u{1b}[31m\\u{9b}c");
        assert_eq!(text("a\u{202e}b\u{200b}", NAME), "a\\u{202e}b\\u{200b}");
        assert_eq!(text("a\\u{a}", NAME), "a\\\\u{a}", "an escape cannot be forged");
        assert_eq!(bytes(b"\xff\x00h3", NAME), "\\xff\\u{0}h3");
    }

    #[test]
    fn every_output_is_bounded_and_cut_at_a_character() {
        assert_eq!(text("abcdef", 4), "abcd…");
        assert_eq!(text("abcd", 4), "abcd");
        assert_eq!(text("aüü", 4), "aü…");
        assert_eq!(text("\n\n", 5), "\\u{a}…", "an escape is not cut in two");
        for length in 0..600 {
            assert!(bytes(&vec![0xff; length], TEXT).len() <= TEXT + '…'.len_utf8());
            assert!(bytes("ü".repeat(length).as_bytes(), TEXT).len() <= TEXT + '…'.len_utf8());
        }
    }

    #[test]
    fn the_number_of_names_is_bounded() {
        assert_eq!(names(&["a", "b"]), "a,b");
        assert_eq!(names(&[""; 0]), "");
        let many: Vec<String> = (0..500).map(|n| format!("n{n}")).collect();
        assert_eq!(names(&many), "n0,n1,n2,n3,n4,n5,n6,n7,+492");
    }
}
