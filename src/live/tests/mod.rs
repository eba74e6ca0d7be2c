mod contraction;
mod memory;
mod pacing;
mod retirement;
mod rig;
