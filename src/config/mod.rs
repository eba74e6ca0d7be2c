//! The document exactly as written: scalars parsed at the edge, every mistake collected.
//!
//! ```text
//! bytes -> yaml (value tree) -> walk by schema and keys -> Document, with its problems
//! ```
//!
//! Deriving would stop at the first mistake, so the tree is walked by hand. What goes together with what is the next
//! stage's: `plan::compile` adds its problems to those found here.

mod document;
mod field;
pub mod keys;
mod node;
pub mod problem;
pub mod scalar;
pub mod schema;
pub mod section;
mod walk;
mod yaml;

pub use document::{Document, parse};
pub use field::{Field, Located};
pub use problem::{Problem, Problems, Spot};
pub use yaml::{MAX_DEPTH, MAX_SIZE};

#[cfg(test)]
mod tests;
