//! Workers, tasks, drain and signals. Imports nothing of the others.

pub mod drain;
pub mod signals;
pub mod tasks;
pub mod workers;

pub use drain::{DrainSignal, DrainTrigger};
pub use tasks::Tasks;
pub use workers::{Worker, Workers};
