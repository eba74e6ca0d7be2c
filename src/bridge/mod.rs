//! Session to session and stream to stream: what relays bytes, and why it ended.

mod end;
mod flow;
mod pair;
mod relay;
pub mod serve;
mod splice;
mod work;

pub use end::PairEnd;
pub use pair::Pair;
pub use serve::{Bridge, serve, serve_stream};
