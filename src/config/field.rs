//! What the walk hands over for a key.

use super::problem::Spot;

/// What the file has under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field<T> {
    /// Nothing.
    Absent,
    /// Something that could not be read, and is among the problems.
    Invalid,
    /// This.
    Given(Located<T>),
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub spot: Spot,
}

impl<T> Field<T> {
    /// The value with its place, if there is one.
    pub fn given(&self) -> Option<&Located<T>> {
        match self {
            Self::Given(located) => Some(located),
            Self::Absent | Self::Invalid => None,
        }
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        self.given().map(|located| &located.value)
    }

    /// Whether the key was left out.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Whether there is something that could not be read.
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Invalid)
    }
}

impl<T: Copy> Field<T> {
    /// The value, or `default` in its place.
    pub fn or(&self, default: T) -> T {
        self.value().copied().unwrap_or(default)
    }
}
