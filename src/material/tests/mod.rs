//! Tests of the folder as a whole; those of one file stand beside it.

mod authority;
mod bounds;
mod corpus;
mod documentation;
mod identity;
mod lists;
mod loading;
mod trust;
