//! Real handshakes between quinn endpoints of this process.

mod accepting;
mod rig;
