//! Real handshakes between quinn endpoints of this process.

mod accepting;
mod authenticating;
mod choosing;
mod resuming;
mod rig;
