//! Bytes with a unit: `512B`, `64KiB`, `1MiB`, `1GiB`.

use super::{Parsed, with_unit};
use crate::config::problem::{Fault, shown};

/// Parses a size. The units are binary and say so.
pub fn parse(text: &str) -> Parsed<u64> {
    let fault = || {
        Fault::new(
            format!("{} is no size", shown(text)),
            "a whole number with a unit: `512B`, `64KiB`, `1MiB` or `1GiB`",
        )
    };
    let (number, unit) = with_unit(text).ok_or_else(fault)?;
    let bytes = match unit {
        "B" => Some(number),
        "KiB" => number.checked_mul(1 << 10),
        "MiB" => number.checked_mul(1 << 20),
        "GiB" => number.checked_mul(1 << 30),
        _ => {
            let meant = match unit.to_ascii_lowercase().as_str() {
                "" | "b" => Some("B"),
                "k" | "kb" | "ki" | "kib" => Some("KiB"),
                "m" | "mb" | "mi" | "mib" => Some("MiB"),
                "g" | "gb" | "gi" | "gib" => Some("GiB"),
                _ => None,
            };
            return Err(fault().meant(meant.map(|unit| format!("{number}{unit}"))));
        }
    };
    bytes.ok_or_else(fault)
}

/// The size as it could be written, in the largest unit that divides it.
pub fn text(bytes: u64) -> String {
    match bytes {
        0 => "0B".into(),
        _ if bytes.is_multiple_of(1 << 30) => format!("{}GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}KiB", bytes >> 10),
        _ => format!("{bytes}B"),
    }
}
