//! Identities and trust that change while it runs, seen through real handshakes: what counts is the certificate that is
//! served, and who is let in.
//!
//! | module | what it holds Iris to |
//! |---|---|
//! | `identity` | renewals: seen by the next connection, soon, closing nothing |
//! | `trust` | bundles: the one on disk now, both ways; a planned rotation, end to end |
//! | `router` | secured on both sides: what it shows and whom it believes |
//! | `candidates` | replacements that are refused or held |
//! | `volumes` | kubelet's way, and volumes that come and go |
//! | `layouts` | where files may lie: links to links, folders of their own, one file, plain files |
//! | `writers` | writers that are not kubelet |
//! | `neighbours` | what is refused or held delays nobody, and no listener is ever without an identity |
//! | `readiness` | never loaded, refused, over; states and counts |
//! | `load` | renewals under load, with peers that must never get in |
//! | `storm` | the cost of events without end |
//! | `events` | events that are not to be had, or were lost |
//! | `activation` | how soon a renewal is in use, measured |
//! | `clock` | ends and beginnings by the wall clock: suspended, and set forwards and back |
//! | `process` | the log; SIGHUP; stopping |
//! | `pages` | the status, and the number of series |

mod activation;
mod candidates;
mod clock;
mod events;
mod identity;
mod layouts;
mod load;
mod neighbours;
mod pages;
mod process;
mod readiness;
mod rig;
mod router;
mod storm;
mod trust;
mod volumes;
mod writers;
