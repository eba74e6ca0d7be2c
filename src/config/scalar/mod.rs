//! Scalars, each parsed at the edge: text in, value or [`Fault`] out. None knows where it stands.

pub mod address;
pub mod duration;
pub mod host;
pub mod path;
pub mod pattern;
pub mod policy;
pub mod scheme;
pub mod size;
pub mod word;

use super::problem::Fault;

/// Digits alone, few enough for no overflow. `parse` of the standard library would take a sign.
pub(super) fn digits(text: &str) -> Option<u64> {
    let plain = (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// A number and its unit: the digits in front, the rest behind.
fn with_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    Some((digits(&text[..end])?, &text[end..]))
}

/// What a scalar parser returns.
pub type Parsed<T> = Result<T, Fault>;

#[cfg(test)]
mod tests;
