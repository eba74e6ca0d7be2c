//! The document exactly as written: scalars parsed at the edge, every mistake collected.
