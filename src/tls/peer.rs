//! Who is at the other end, as far as its certificate tells.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;

use crate::material::provider::sha256;

/// A chain as it was shown, leaf first. Clones share it.
pub type Chain = Arc<[CertificateDer<'static>]>;

/// The certificate that a peer showed and that was verified (or, where the plan says so, not).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerIdentity {
    /// The chain as it was shown, leaf first. Kept to be judged again when trust shrinks.
    pub chain: Chain,
    /// DNS names of the leaf.
    pub dns_names: Vec<String>,
    /// URIs of the leaf.
    pub uris: Vec<String>,
    /// SHA-256 over the leaf.
    pub sha256: [u8; 32],
}

impl PeerIdentity {
    /// The identity of a connection's peer. `None` when it showed no certificate, or before the handshake is done.
    pub fn of(connection: &quinn::Connection) -> Option<Self> {
        Self::of_chain(chain_of(connection)?)
    }

    /// The identity that a chain is about. `None` for an empty one.
    pub fn of_chain(chain: Chain) -> Option<Self> {
        let leaf = chain.first()?;
        let parsed = webpki::EndEntityCert::try_from(leaf).ok();
        let (dns_names, uris) = parsed.map_or_else(Default::default, |leaf| {
            (leaf.valid_dns_names().map(str::to_owned).collect(), leaf.valid_uri_names().map(str::to_owned).collect())
        });
        Some(Self { dns_names, uris, sha256: sha256(leaf), chain })
    }
}

/// The chain that a connection's peer showed. `None` when it showed none, or before the handshake is done.
pub fn chain_of(connection: &quinn::Connection) -> Option<Chain> {
    Some((*connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?).into())
}
