//! Metrics, log and status rows. Imports nothing of the others.

pub mod labels;
