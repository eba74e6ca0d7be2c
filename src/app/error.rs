//! What keeps the process from starting.

use std::io;

use crate::material::reload::ReloadError;

/// What keeps the process from starting.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A socket cannot be bound.
    #[error("{what}: cannot bind {address}")]
    Bind {
        /// `listener NAME`, `admin.listen` or `admin.scrape`.
        what: String,
        /// The address of the configuration, or the path.
        address: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// A worker, or the sockets that it dials from, cannot be made.
    #[error("cannot start the workers")]
    Workers(#[source] io::Error),
    /// The thread that sweeps connections when trust shrinks cannot be made.
    #[error("cannot start the sweeper")]
    Sweeper(#[source] io::Error),
    /// The materials cannot be kept: there is no thread for them, or no crypto configuration can be built at all, which is a
    /// fault of Iris.
    #[error("cannot load the materials")]
    Materials(#[source] ReloadError),
}
