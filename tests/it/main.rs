//! One integration binary; its table of contents.

fn main() {}
