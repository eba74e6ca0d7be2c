//! Session to session and stream to stream: what relays bytes, and why it ended.

mod end;
mod flow;
mod h2;
mod pair;
mod pool;
mod relay;
pub mod serve;
mod splice;
mod work;

pub use end::PairEnd;
#[doc(hidden)]
pub use h2::fuzz_h2;
pub use pair::Pair;
pub use pool::Pools;
pub use serve::{Bridge, serve, serve_stream};
