//! What `iris demo` is made of: a throwaway PKI, volumes as kubelet lays them out, and who tells the story.

pub mod narrator;
pub mod pki;
pub mod volume;

#[cfg(test)]
mod tests;
