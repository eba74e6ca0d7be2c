//! The parts of a document, as written. What each key means stands with the type that it becomes in the
//! plan, and for people in `docs/configuration.md`.

pub mod listener;
pub mod material;
pub mod policy;
pub mod settings;
pub mod upstream;
