//! The seam that all bridges use: streams, datagrams, close.

mod bell;
pub mod bytes;
pub mod close;
pub mod config;
pub mod names;
pub mod proxy;
pub mod session;
pub mod socket;
pub mod stream;
pub mod tcp;
pub mod unix;
pub mod wire;

pub use bytes::ByteStream;
pub use close::{Close, Code};
pub use proxy::ProxyHeader;
pub use session::Session;
pub use stream::{RecvHalf, SendHalf};
pub use wire::Wire;
