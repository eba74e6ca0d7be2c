//! One integration binary; its table of contents.
//!
//! | module | proves |
//! |---|---|
//! | [`structure`] | the house stands as ARCHITECTURE.md says: imports, owners, sizes, prose |

mod structure;
