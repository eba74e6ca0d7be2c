//! Names, flags, numbers, and application protocols.

use super::{Parsed, digits};
use crate::config::problem::{Fault, shown};

/// The name of a listener, upstream, identity or trust bundle.
pub fn name(text: &str) -> Parsed<String> {
    if is_name(text) {
        return Ok(text.to_owned());
    }
    let meant: String = text.to_ascii_lowercase().replace(['_', '.', ' '], "-");
    Err(Fault::new(format!("{} is no name", shown(text)), "1 to 63 of `a` to `z`, `0` to `9` and `-`")
        .meant(is_name(&meant).then_some(meant)))
}

fn is_name(text: &str) -> bool {
    (1..=63).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// `true` or `false`. Other spellings of YAML 1.1 are refused: `no` and `off` mean different things to different readers.
pub fn flag(text: &str) -> Parsed<bool> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => {
            let meant = match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "y" => Some("true"),
                "false" | "no" | "off" | "n" => Some("false"),
                _ => None,
            };
            Err(Fault::new(format!("{} is neither `true` nor `false`", shown(text)), "`true` or `false`").meant(meant))
        }
    }
}

/// A whole number.
pub fn count(text: &str) -> Parsed<u64> {
    digits(text).ok_or_else(|| Fault::new(format!("{} is no whole number", shown(text)), "digits alone"))
}

/// An application protocol that is offered (RFC 7301 section 3.1). What a listener's `none` stands for is here no entry.
pub fn protocol(text: &str) -> Parsed<Vec<u8>> {
    let nothing = || Fault::new("`none` is no application protocol", "no `alpn` at all, to offer nothing");
    alpn(text)?.ok_or_else(nothing)
}

/// One entry of a listener's `alpn`: `None` for the reserved word `none`, otherwise a protocol identifier (RFC 7301 section 3.1).
pub fn alpn(text: &str) -> Parsed<Option<Vec<u8>>> {
    match text {
        "none" => Ok(None),
        _ if (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) => {
            Ok(Some(text.as_bytes().to_vec()))
        }
        _ => Err(Fault::new(
            format!("{} is no application protocol", shown(text)),
            "1 to 255 visible ASCII characters such as `h3`, or `none` for peers that offer no protocol",
        )),
    }
}
