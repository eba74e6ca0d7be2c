//! From files to validated, immutable generations.
