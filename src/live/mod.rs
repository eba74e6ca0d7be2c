//! Who is connected now, on which generations each stands, and how to end it.

pub mod admission;
pub mod order;
pub mod registry;
mod rows;

pub use admission::{Admission, Admitted, Refusal};
pub use order::Order;
pub use registry::{Connection, FarSide, Registry, Ticket};
pub use rows::rows;
