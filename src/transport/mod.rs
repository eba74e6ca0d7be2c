//! The seam that all bridges use: streams, datagrams, close.

mod bell;
pub mod close;
pub mod config;
pub mod names;
pub mod proxy;
pub mod session;
pub mod socket;
pub mod stream;

pub use close::{Close, Code};
pub use proxy::ProxyHeader;
pub use session::Session;
pub use stream::{RecvHalf, SendHalf};
