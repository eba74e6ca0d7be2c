//! Identities and trust that change while it runs, seen through real handshakes: what counts is the certificate that is
//! served, and who is let in.
//!
//! | module | what it holds Iris to |
//! |---|---|
//! | `identity` | renewals: seen by the next connection, soon, closing nothing |
//! | `trust` | bundles: the one on disk now, both ways; a planned rotation, end to end |
//! | `router` | secured on both sides: what it shows and whom it believes |
//! | `candidates` | replacements that are refused or held |
//! | `volumes` | kubelet's way, and writers that are not kubelet |
//! | `readiness` | never loaded, refused, over; states and counts |
//! | `load` | renewals under load, with peers that must never get in |
//! | `storm` | the cost of events without end |
//! | `process` | the log; SIGHUP; stopping |

mod candidates;
mod identity;
mod load;
mod process;
mod readiness;
mod rig;
mod router;
mod storm;
mod trust;
mod volumes;
