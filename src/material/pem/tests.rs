use proptest::prelude::*;

use super::*;

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
    let wide: Vec<u8> = certificate("Zm9v").encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(reason(wide), Reason::PemEncoding);
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
    assert_eq!(reason("-----BEGIN CERTIFICATE----\n".to_owned() + &whole), Reason::PemMalformed);
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
fn debug_shows_no_content() {
    let blocks = read(certificate("Zm9v").replace("CERTIFICATE", "PRIVATE KEY").as_bytes()).expect("readable");
    let shown = format!("{blocks:?}");
    assert!(!shown.contains("102") && !shown.contains("Zm9v"), "{shown}");
}

/// BEGIN lines as somebody else would count them.
fn independent_count(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes).replace('\r', "\n");
    text.split('\n').filter(|line| line.trim().trim_start_matches('\u{feff}').trim().starts_with("-----BEGIN ")).count()
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
        " ",
        "\0",
    ]);
    prop_oneof![8 => fixed.prop_map(|text| text.as_bytes().to_vec()), 1 => prop::collection::vec(any::<u8>(), 0..4)]
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
    fn what_is_written_is_read(contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 1..5)) {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let encode = |bytes: &Vec<u8>| {
            let mut text = String::new();
            for group in bytes.chunks(3) {
                let word = [group[0], *group.get(1).unwrap_or(&0), *group.get(2).unwrap_or(&0)];
                let bits = u32::from_be_bytes([0, word[0], word[1], word[2]]);
                for position in 0..4 {
                    let digit = char::from(ALPHABET[(bits >> (18 - 6 * position)) as usize & 63]);
                    text.push(if position > group.len() { '=' } else { digit });
                }
            }
            text
        };
        let file: String = contents.iter().map(|content| certificate(&encode(content))).collect();
        let blocks = read(file.as_bytes()).expect("readable");
        prop_assert_eq!(blocks.into_iter().map(|block| block.content).collect::<Vec<_>>(), contents);
    }
}
