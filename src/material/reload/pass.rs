//! What a pass is given and what comes of it.

use std::{collections::BTreeSet, error::Error, path::PathBuf, sync::Arc};

use crate::material::{Generations, MaterialId};

/// Why nothing can be derived.
pub type DeriveError = Box<dyn Error + Send + Sync>;

/// Derives what is published, whole, from all generations.
pub type Derive<C> = Box<dyn Fn(&Generations) -> Result<C, DeriveError> + Send>;

/// What became of a material in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Its next generation is in use.
    Adopted,
    /// What is on disk is refused; `first` when this content is refused for the first time.
    Refused {
        /// Whether it is to be counted and logged.
        first: bool,
    },
    /// What is on disk is good from a later moment on.
    Held,
    /// What is on disk is what is in use again.
    Settled,
}

/// The outcome of a pass.
#[derive(Debug)]
pub struct Pass<C> {
    /// In the order in which materials depend on one another; what is as before is not there.
    pub changes: Vec<(MaterialId, Change)>,
    /// What follows from the new generations, when there are any.
    pub derived: Option<Arc<C>>,
    /// Where to look for changes.
    pub places: BTreeSet<PathBuf>,
}
