//! From files to validated, immutable generations.
//!
//! [`source`] says which files, [`read`] takes one consistent snapshot of them, [`pem`] and the rest parse and check it
//! (pure: the time is an argument), [`generation`] numbers what is good, [`publish`] swaps it in, and
//! [`reload`] does it again and again, hinted at by [`watch`]. A material that is
//! refused is a [`Rejection`] with a [`Reason`]; `docs/materials.md` explains each.

pub mod authority;
pub mod casualties;
pub mod certificate;
mod chain;
mod der;
pub mod generation;
pub mod identity;
mod key;
pub mod load;
pub mod observed;
pub mod pem;
pub mod provider;
pub mod publish;
pub mod read;
pub mod reason;
pub mod reload;
pub mod revocation;
pub mod roles;
pub mod source;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod trust;
pub mod watch;

pub use authority::{Authority, Usage};
pub use casualties::Casualties;
pub use certificate::{CertificateFacts, Names, common_name, validity};
pub use generation::{Built, Generation, Generations, MaterialId};
pub use identity::Identity;
pub use load::load;
pub use provider::provider;
pub use reason::{Reason, Rejection, Warning};
pub use revocation::RevocationLists;
pub use trust::{Anchor, TrustBundle};
