//! The only composer: bind everything, run, drain.
