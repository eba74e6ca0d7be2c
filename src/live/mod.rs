//! Who is connected now, on which generations each stands, and how to end it.

pub mod admission;
pub mod connection;
pub mod contraction;
mod judge;
pub mod order;
mod pace;
mod pacer;
pub mod registry;
mod retire;
mod rows;
mod sweep;
#[cfg(test)]
mod tests;

pub use admission::{Admission, Admitted, Refusal};
pub use connection::{Connection, FarSide, Footing};
pub use contraction::Contraction;
pub use order::Order;
pub use registry::{Registry, Ticket};
pub use rows::rows;
