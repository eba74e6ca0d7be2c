//! `tls://`, `tcp://` and `unix:`: bytes, ends and aborts through the running app.

mod ends;
mod handshakes;
pub(crate) mod rig;
mod thousand;
