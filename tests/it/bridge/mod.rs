//! The transparent bridge, each way: streams, codes, closes, limits, datagrams.

mod close;
mod codes;
mod datagrams;
mod limits;
mod streams;
