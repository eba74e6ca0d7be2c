//! Nothing secret in any output. Every key and certificate of the tests' PKI is noted here, in the forms that output could
//! give them; whatever Iris says is searched for them: its log, its pages, the whole output of its processes.

use std::{
    collections::HashMap,
    io,
    sync::{Mutex, Once, PoisonError, RwLock},
    thread,
};

use iris::observe::log::{self, Format};
use tracing_subscriber::fmt::MakeWriter;

/// Bytes that are looked at together: too many to be met by chance, and few enough for a line of PEM that is cut anywhere.
const WINDOW: usize = 16;

/// How PEM begins and ends: as text, and as the bytes of a file in hexadecimal and as a list of numbers.
const PEM: &[&str] = &[
    "-----BEGIN ",
    "PRIVATE KEY-----",
    "2d2d2d2d2d424547494e20",
    "2D2D2D2D2D424547494E20",
    "45, 45, 45, 45, 45, 66, 69, 71, 73, 78, 32, ",
];

/// What must not be said, by what it would be.
static FORBIDDEN: RwLock<Option<HashMap<[u8; WINDOW], &'static str>>> = RwLock::new(None);

/// What the log of this process has said all the same.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes a private key of P-256, as PKCS#8 or SEC1 in DER.
pub(crate) fn note_key(der: &[u8]) {
    // RFC 5915: version 1, then an OCTET STRING of 32 bytes. The rest of the structure is public.
    let mark = [0x02, 0x01, 0x01, 0x04, 0x20];
    let at = der.windows(mark.len()).position(|window| window == mark).expect("a key of P-256") + mark.len();
    let secret = &der[at..at + 32];
    note("the bytes of a private key", secret, WINDOW);
    let hex = |upper: bool| -> String {
        secret.iter().map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") }).collect()
    };
    note("a private key in hexadecimal", hex(false).as_bytes(), WINDOW);
    note("a private key in hexadecimal", hex(true).as_bytes(), WINDOW);
    note("a private key as a list of numbers", format!("{secret:?}").trim_matches(['[', ']']).as_bytes(), WINDOW);
    for before in 0..3 {
        let text = base64(&[&vec![0; before], secret].concat());
        // The first and the last character depend on what stands beside; a line may be broken anywhere.
        note("a private key in base64", &text.as_bytes()[2..42], 4);
    }
}

/// Notes a PEM text: none of its lines may be said.
pub(crate) fn note_pem(pem: &str) {
    for line in pem.lines().filter(|line| line.len() >= WINDOW && !line.starts_with('-')) {
        note("a line of PEM", line.as_bytes(), WINDOW);
    }
}

/// Notes a token that components send to one another: it passes through, and is nobody's business here.
pub(crate) fn note_token(token: &str) {
    note("a token", token.as_bytes(), 1);
}

fn note(what: &'static str, text: &[u8], step: usize) {
    let mut forbidden = FORBIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    let forbidden = forbidden.get_or_insert_default();
    for window in text.windows(WINDOW).step_by(step) {
        forbidden.insert(window.try_into().expect("of this length"), what);
    }
}

/// What is secret in `text`, with what stands in front of it.
pub(crate) fn found(text: &[u8]) -> Option<String> {
    let context = |at: usize| String::from_utf8_lossy(&text[at.saturating_sub(120)..at]).into_owned();
    for mark in PEM {
        if let Some(at) = text.windows(mark.len()).position(|window| window == mark.as_bytes()) {
            return Some(format!("PEM after: {}", context(at)));
        }
    }
    let forbidden = FORBIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    let forbidden = forbidden.as_ref()?;
    text.windows(WINDOW).enumerate().find_map(|(at, window)| {
        let window: &[u8; WINDOW] = window.try_into().expect("of this length");
        forbidden.get(window).map(|what| format!("{what} after: {}", context(at)))
    })
}

/// Fails the test when `text` has anything secret in it. What a failed test has said is only told.
#[track_caller]
pub(crate) fn search(what: &str, text: &[u8]) {
    let Some(found) = found(text) else { return };
    let said = format!("{what} has {found}");
    if thread::panicking() { println!("{said}") } else { panic!("{said}") }
}

/// From now on every line that Iris logs in this process is searched.
pub(crate) fn watch_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = log::subscriber(Format::Json, tracing::Level::DEBUG, Searching);
        tracing::subscriber::set_global_default(subscriber).expect("the only one of this process");
    });
}

/// Fails the test when anything secret was logged until now, by whichever.
#[track_caller]
pub(crate) fn search_log() {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some(first), false) = (said.first(), thread::panicking()) {
        panic!("{} lines of the log have secrets: {first}", said.len());
    }
}

/// Where the log goes: nowhere, once it is searched.
struct Searching;

impl io::Write for Searching {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(found) = found(line) {
            SAID.lock().unwrap_or_else(PoisonError::into_inner).push(found);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Searching {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |group: &[u8], position: usize| {
        let word = (0..3).fold(0_usize, |word, at| word << 8 | usize::from(group.get(at).copied().unwrap_or(0)));
        char::from(ALPHABET[word >> (18 - 6 * position) & 63])
    };
    bytes.chunks(3).flat_map(|group| (0..4).map(move |position| digit(group, position))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::pki::Ca;

    #[test]
    fn c21_a_secret_is_found_in_every_form() {
        let (ca, der) = (Ca::new("ca"), |leaf: &crate::support::pki::Leaf| leaf.key_der().secret_der().to_vec());
        let leaf = ca.leaf(&["a.test"]);
        let key = der(&leaf);
        let (pem, secret) = (leaf.key_pem(), &key[36..68]);
        let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let lines: Vec<&str> = pem.lines().collect();
        note_token("Bearer a-token-of-this-test");
        for (form, text) in [
            ("PEM", pem.clone()),
            ("the file, as bytes", format!("{:?}", pem.as_bytes())),
            ("the file, in hexadecimal", hex(pem.as_bytes())),
            ("its label alone", "label: EC PRIVATE KEY-----".to_owned()),
            ("the line of PEM that has the key", lines[1].to_owned() + lines[2]),
            ("the body on one line", body.clone()),
            ("the body from elsewhere on", body[30..].to_owned()),
            ("the body, escaped", lines[1].to_owned() + "\\n" + lines[2]),
            ("hexadecimal", hex(&key)),
            ("upper case", hex(secret).to_uppercase()),
            ("Debug of the bytes", format!("Key {{ der: {key:?} }}")),
            ("base64 at another offset", base64(&key[1..])),
            ("base64 at a third", base64(&key[2..])),
            ("a token", "authorization: Bearer a-token-of-this-test".to_owned()),
            ("the certificate", leaf.chain_pem.lines().nth(3).unwrap().to_owned()),
        ] {
            assert!(found(format!("{{\"message\":\"{text}\"}}").as_bytes()).is_some(), "{form} is not found");
        }
        assert!(found(&key).is_some(), "the bytes");
        let harmless = format!("{} {:?} tls.key -- BEGIN", hex(&leaf.chain[0][..80]), leaf.chain[0]);
        assert_eq!(found(harmless.as_bytes()), None);
    }

    #[test]
    #[should_panic(expected = "the page has a private key in hexadecimal after: edge: ")]
    fn c21_what_is_found_fails_the_test() {
        let leaf = Ca::new("ca").leaf(&["a.test"]);
        let hex: String = leaf.key_der().secret_der()[36..].iter().map(|byte| format!("{byte:02x}")).collect();
        search("the page", format!("edge: {hex}").as_bytes());
    }
}
