use proptest::prelude::*;

use super::*;
use crate::material::testing::block;

fn certificate(body: &str) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
}

fn contents(text: impl AsRef<[u8]>) -> Vec<Vec<u8>> {
    read(text.as_ref()).expect("readable").into_iter().map(|block| block.content).collect()
}

fn reason(text: impl AsRef<[u8]>) -> Reason {
    read(text.as_ref()).expect_err("refused").reason
}

#[test]
fn lines_may_end_in_any_way_and_be_indented() {
    let two = certificate("Zm9v") + &certificate("YmFy");
    let expected = [b"foo".to_vec(), b"bar".to_vec()];
    for text in [two.clone(), two.replace('\n', "\r\n"), two.replace('\n', "\r"), two.replace('\n', "\n  \t")] {
        assert_eq!(contents(text), expected);
    }
    assert_eq!(contents(certificate("Zm\n9v\n\nYm Fy")), [b"foobar".to_vec()]);
}

#[test]
fn a_byte_order_mark_hides_no_block() {
    let marked = "\u{feff}".to_owned() + &certificate("Zm9v");
    assert_eq!(contents(marked.clone() + &marked), [b"foo".to_vec(), b"foo".to_vec()]);
    // It stands where a file begins, so never inside a block.
    assert_eq!(reason(certificate("\u{feff}Zm9v")), Reason::PemMalformed);
    assert_eq!(reason(certificate("Zm9v").replace("-----END", "\u{feff}-----END")), Reason::PemMalformed);
    assert_eq!(reason("-----BEGIN CERTIFICATE-----\nZm9\n".to_owned() + &marked), Reason::Truncated);
}

#[test]
fn text_around_blocks_is_any_bytes() {
    let mut text = b"Autorit\xe9\n".to_vec();
    text.extend(certificate("Zm9v").bytes());
    text.extend(b"\xff\xfe words");
    assert_eq!(contents(text), [b"foo".to_vec()]);
}

#[test]
fn what_is_no_text_is_named() {
    assert_eq!(reason(""), Reason::Empty);
    assert_eq!(reason(" \r\n\t\0\0"), Reason::Empty);
    assert_eq!(reason("# nothing yet\n\n"), Reason::Empty);
    assert_eq!(reason([0x30, 0x82, 1, 2, 3]), Reason::NotPem);
    assert_eq!(reason([0x30, 2, 5, 0]), Reason::NotPem);
    assert_eq!(reason(b"\xfe\xed\xfe\xed\0\0\0\x02"), Reason::NotPem);
    let text = certificate("Zm9v");
    let wide: [Vec<u8>; 4] = [
        text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        text.bytes().flat_map(|byte| u32::from(byte).to_be_bytes()).collect(),
        text.bytes().flat_map(|byte| u32::from(byte).to_le_bytes()).collect(),
    ];
    for wide in wide {
        assert_eq!(reason(&wide), Reason::PemEncoding);
        for mark in [&b"\xff\xfe"[..], b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff"] {
            assert_eq!(reason([mark, &wide].concat()), Reason::PemEncoding);
        }
    }
    assert_eq!(reason(certificate("Zm\09v")), Reason::PemMalformed);
    assert_eq!(read(b"0 is a digit\n"), Ok(Vec::new()));
}

#[test]
fn half_a_block_refuses_the_file() {
    let whole = certificate("Zm9v");
    assert_eq!(reason(whole.clone() + "-----BEGIN CERTIFICATE-----\nZm9"), Reason::Truncated);
    assert_eq!(reason("-----BEGIN CERTIFICATE-----\nZm9v\n".to_owned() + &whole), Reason::Truncated);
    assert_eq!(reason(certificate("")), Reason::Truncated);
    assert_eq!(reason("Zm9v\n-----END CERTIFICATE-----\n".to_owned() + &whole), Reason::PemMalformed);
    for body in ["Zm9", "Zm9v=", "Zh==", "Zm9v\nZg==\nZm9v", "Zm@v", "X-Origin: vault\n\nZm9v"] {
        assert_eq!(reason(certificate(body)), Reason::PemMalformed, "{body}");
    }
    assert_eq!(reason(whole.replace("END CERTIFICATE", "END X509 CRL")), Reason::PemMalformed);
    assert_eq!(reason(whole.replace('\n', "\\n")), Reason::PemMalformed);
}

#[test]
fn a_begin_that_is_almost_one_is_not_taken_for_text() {
    let whole = certificate("Zm9v");
    assert_eq!(reason(whole.trim_end().to_owned() + &whole), Reason::PemMalformed, "a line end is missing");
    assert_eq!(reason(whole.clone() + &whole.to_lowercase()), Reason::PemMalformed);
    assert_eq!(reason(whole.clone() + &whole.replace("-----", "—–")), Reason::PemMalformed);
    for odd in ["-----BEGIN CERTIFICATE----\n", "-----BEGIN  CERTIFICATE-----\n", "-----BEGIN\tCERTIFICATE-----\n"] {
        assert_eq!(reason(odd.to_owned() + &whole), Reason::PemMalformed, "{odd}");
    }
    // White space that is none to a byte: a zero-width space, a no-break space, a vertical tab, a second mark.
    for odd in ["\u{200b}", "\u{a0}", "\u{b}", "\u{feff}\u{feff}", "------", "----- "] {
        assert_eq!(reason(whole.clone() + odd + &whole), Reason::PemMalformed, "{odd:?}");
    }
    assert_eq!(read(whole.to_lowercase().as_bytes()), Ok(Vec::new()), "alone, the lack of certificates says it");
    assert_eq!(contents("# BEGIN CERTIFICATE of the root\n".to_owned() + &whole).len(), 1);
    assert_eq!(read(b"<body>-----BEGIN nothing</body>"), Ok(Vec::new()));
}

#[test]
fn encrypted_keys_are_seen_as_such() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nnot base64 @\n-----END RSA PRIVATE KEY-----\n";
    assert_eq!(reason(key), Reason::PemMalformed);
    let blocks = read(key.replace(" @", "==").replace("not base64", "Zg").as_bytes()).expect("readable");
    assert!(blocks[0].encrypted && blocks[0].content.is_empty() && blocks[0].label == Label::Pkcs1);
}

#[test]
fn no_block_hides_behind_a_header() {
    let inner = "DEK-Info: 0 -----BEGIN CERTIFICATE-----\nZm9v\n-----END CERTIFICATE-----\n";
    for end in ["-----END RSA PRIVATE KEY-----\n", ""] {
        let file = format!("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n{inner}\n{end}");
        assert_eq!(reason(file), Reason::PemMalformed);
    }
    let cut = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: -----BEGIN X509 CRL-----\n\nZg==\n-----END RSA PRIVATE KEY-----\n";
    assert_eq!(reason(cut), Reason::PemMalformed);
}

#[test]
fn debug_shows_no_content() {
    let blocks = read(certificate("Zm9v").replace("CERTIFICATE", "PRIVATE KEY").as_bytes()).expect("readable");
    let shown = format!("{blocks:?}");
    assert!(!shown.contains("102") && !shown.contains("Zm9v"), "{shown}");
}

/// Blocks as somebody else would count them: no lines, no states, only the places where something reads like the head of a
/// block, from its first hyphen to its last.
fn independent_count(bytes: &[u8]) -> usize {
    let head = b"-----BEGIN ";
    (0..bytes.len())
        .filter(|at| bytes[*at..].starts_with(head))
        .filter(|at| {
            let label = &bytes[at + head.len()..];
            let end = label.iter().position(|byte| matches!(byte, b'-' | b'\r' | b'\n')).unwrap_or(label.len());
            label[end..].starts_with(b"-----")
        })
        .count()
}

#[test]
fn the_independent_count_counts() {
    let two = certificate("Zm9v") + "text\n" + &certificate("Zg==");
    assert_eq!(independent_count(two.as_bytes()), 2);
    assert_eq!(independent_count(two.replace('\n', "\r").as_bytes()), 2);
    assert_eq!(independent_count(b"<body>-----BEGIN nothing</body>"), 0);
}

/// Pieces that make files which are nearly PEM.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let fixed = prop::sample::select(vec![
        "-----BEGIN CERTIFICATE-----",
        "-----END CERTIFICATE-----",
        "-----BEGIN X509 CRL-----",
        "-----END X509 CRL-----",
        "-----BEGIN ",
        "-----",
        "Zm9v",
        "Zg==",
        "\n",
        "\r\n",
        "\r",
        "\u{feff}",
        "# words",
        "Proc-Type: 4,ENCRYPTED",
        "DEK-Info: 0",
        " ",
        "\0",
    ]);
    prop_oneof![8 => fixed.prop_map(|text| text.as_bytes().to_vec()), 1 => prop::collection::vec(any::<u8>(), 0..4)]
}

/// A file of certificates, lists and keys with text around them.
fn file() -> impl Strategy<Value = String> {
    let label = prop::sample::select(vec!["CERTIFICATE", "X509 CRL", "PRIVATE KEY", "EC PRIVATE KEY"]);
    let content = prop::collection::vec(any::<u8>(), 1..120);
    let around = prop::sample::select(vec!["", "# words\n", "Bag Attributes\n", "\n", "\u{feff}"]);
    let eol = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    let block =
        (around, label, content).prop_map(|(around, label, content)| around.to_owned() + &block(label, &content));
    (prop::collection::vec(block, 1..4), eol).prop_map(|(blocks, eol)| blocks.concat().replace('\n', eol))
}

/// Something done to a file.
#[derive(Debug, Clone)]
enum Change {
    Replace(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
}

impl Change {
    fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = bytes.to_vec();
        let place = |index: &prop::sample::Index| index.index(bytes.len().max(1)).min(bytes.len());
        match self {
            Self::Replace(at, byte) => {
                if let Some(old) = out.get_mut(place(at)) {
                    *old = *byte;
                }
            }
            Self::Insert(at, more) => drop(out.splice(place(at)..place(at), more.iter().copied())),
            Self::Remove(at, count) => drop(out.drain(place(at)..(place(at) + count).min(bytes.len()))),
            Self::Repeat(at, count) => {
                let again = bytes[place(at)..(place(at) + count).min(bytes.len())].to_vec();
                drop(out.splice(place(at)..place(at), again));
            }
        }
        out
    }
}

/// One byte is another, more or less.
fn change() -> impl Strategy<Value = Change> {
    let byte = prop_oneof![any::<u8>(), prop::sample::select(b"\n\r -=#:\0A".to_vec())];
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), byte.clone()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (at(), byte).prop_map(|(at, byte)| Change::Insert(at, vec![byte])),
        at().prop_map(|at| Change::Remove(at, 1)),
    ]
}

/// Any of it, and pieces that go missing, come twice or come from elsewhere.
fn damage() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        change(),
        (at(), 1usize..200).prop_map(|(at, count)| Change::Remove(at, count)),
        (at(), 1usize..200).prop_map(|(at, count)| Change::Repeat(at, count)),
        (at(), piece()).prop_map(|(at, piece)| Change::Insert(at, piece)),
    ]
}

proptest! {
    #[test]
    fn what_is_accepted_has_every_block(pieces in prop::collection::vec(piece(), 0..40)) {
        let bytes = pieces.concat();
        if let Ok(blocks) = read(&bytes) {
            prop_assert_eq!(blocks.len(), independent_count(&bytes));
        }
    }

    #[test]
    fn no_change_of_a_byte_loses_a_block_unsaid(file in file(), change in change()) {
        let before = read(file.as_bytes()).expect("readable").len();
        let bytes = change.apply(file.as_bytes());
        if let Ok(blocks) = read(&bytes) {
            prop_assert_eq!(blocks.len(), before, "{}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn no_damage_loses_a_block_that_can_be_seen(file in file(), changes in prop::collection::vec(damage(), 1..4)) {
        let bytes = changes.iter().fold(file.into_bytes(), |bytes, change| change.apply(&bytes));
        if let Ok(blocks) = read(&bytes) {
            prop_assert_eq!(blocks.len(), independent_count(&bytes), "{}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn a_cut_is_seen_unless_it_falls_between_blocks(file in file(), at in any::<prop::sample::Index>()) {
        let cut = &file.as_bytes()[..at.index(file.len())];
        if let Ok(blocks) = read(cut) {
            let text = String::from_utf8_lossy(cut);
            prop_assert_eq!(blocks.len(), text.matches("-----END ").count());
            prop_assert_eq!(blocks.len(), text.matches("-----BEGIN ").count());
        }
    }

    #[test]
    fn what_is_written_is_read(contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 1..5)) {
        let file: String = contents.iter().map(|content| block("CERTIFICATE", content)).collect();
        let blocks = read(file.as_bytes()).expect("readable");
        prop_assert_eq!(blocks.into_iter().map(|block| block.content).collect::<Vec<_>>(), contents);
    }
}
