//! `tls://`, `tcp://` and `unix:`: bytes, ends and aborts through the running app.

mod calls;
mod ends;
mod fan_out;
mod handshakes;
pub(crate) mod rig;
mod thousand;
