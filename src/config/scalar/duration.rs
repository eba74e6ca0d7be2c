//! Times with a unit: `500ms`, `10s`, `5m`, `1h`.

use std::time::Duration;

use super::{Parsed, with_unit};
use crate::config::problem::{Fault, shown};

/// Parses a time. Whole numbers and one unit, so that each has one spelling to read.
pub fn parse(text: &str) -> Parsed<Duration> {
    let fault = || {
        Fault::new(
            format!("{} is no duration", shown(text)),
            "a whole number with a unit: `500ms`, `10s`, `5m` or `1h`",
        )
    };
    let (number, unit) = with_unit(text).ok_or_else(fault)?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        "" => return Err(fault().meant(Some(format!("{number}s")))),
        _ => None,
    };
    millis.map(Duration::from_millis).ok_or_else(fault)
}

/// The time as it could be written, in the largest unit that divides it.
pub fn text(value: Duration) -> String {
    let millis = value.as_millis();
    match millis {
        0 => "0s".into(),
        _ if millis.is_multiple_of(3_600_000) => format!("{}h", millis / 3_600_000),
        _ if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        _ if millis.is_multiple_of(1_000) => format!("{}s", millis / 1_000),
        _ => format!("{millis}ms"),
    }
}
