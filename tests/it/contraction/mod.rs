//! Trust that shrinks while connections live.

mod egress;
mod identity;
mod in_flight;
mod ingress;
mod lists;
mod quiet;
mod race;
mod rig;
mod spread;
mod verdicts;
