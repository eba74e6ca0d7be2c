//! Whom a role believes: a trust bundle and the revocation lists beside it. The one place where chains are judged, at
//! handshakes, by expectations, and again when trust shrinks.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage, VerifiedPath};

use super::{
    generation::Generation,
    provider::algorithms,
    revocation::{RevocationLists, Status},
    trust::TrustBundle,
};
use crate::plan::{RevocationDepth, UnknownStatus};

/// A trust bundle and its revocation lists, each of one generation.
#[derive(Debug, Clone)]
pub struct Authority {
    name: String,
    trust: Arc<Generation<TrustBundle>>,
    revocation: Option<Arc<Generation<RevocationLists>>>,
}

/// What a peer's certificate must be good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// `serverAuth`
    Server,
    /// `clientAuth`
    Client,
}

impl Authority {
    /// The authority over `trust`, which bears `name` in the configuration.
    pub fn new(
        name: &str,
        trust: Arc<Generation<TrustBundle>>,
        revocation: Option<Arc<Generation<RevocationLists>>>,
    ) -> Self {
        Self { name: name.to_owned(), trust, revocation }
    }

    /// The name of the bundle in the configuration.
    pub fn trust_name(&self) -> &str {
        &self.name
    }

    /// The bundle.
    pub fn trust(&self) -> &Arc<Generation<TrustBundle>> {
        &self.trust
    }

    /// The revocation lists, where the configuration names some.
    pub fn revocation(&self) -> Option<&Arc<Generation<RevocationLists>>> {
        self.revocation.as_ref()
    }

    /// How many contractions of the bundle and of its revocation lists there have been. Whoever was judged under a smaller
    /// number must be judged again.
    pub fn contractions(&self) -> u64 {
        self.trust.contractions + self.revocation.as_ref().map_or(0, |lists| lists.contractions)
    }

    /// Whether a chain reaches an anchor that is valid at `now`, keeping to its path length, with no certificate of it
    /// revoked. Returns the anchor's position in [`TrustBundle::anchors`].
    ///
    /// Validity is checked before the issuer. To ask again later is a question of its own:
    /// [`verify_again`](Self::verify_again).
    pub fn verify(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        usage: Usage,
        now: UnixTime,
    ) -> Result<usize, Error> {
        self.verify_at(leaf, intermediates, usage, now, now)
    }

    /// Asks again, `now`, about a chain that was judged at the time of its handshake, `then`. The chain's certificates
    /// are judged as of then, so that one that has ended since does not hide whether its issuer is still trusted; anchors
    /// as of now, so that a CA that was issued again with the same key since is still the one that vouched.
    pub fn verify_again(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        usage: Usage,
        then: UnixTime,
        now: UnixTime,
    ) -> Result<usize, Error> {
        self.verify_at(leaf, intermediates, usage, then, now)
    }

    fn verify_at(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        usage: Usage,
        chain_at: UnixTime,
        anchors_at: UnixTime,
    ) -> Result<usize, Error> {
        let leaf = EndEntityCert::try_from(leaf)?;
        let roots = &self.trust.value.roots.roots;
        let usage = match usage {
            Usage::Server => KeyUsage::server_auth(),
            Usage::Client => KeyUsage::client_auth(),
        };
        let acceptable = |path: &VerifiedPath<'_>| self.accept(path, anchors_at).map(|_| ());
        let path = leaf.verify_for_usage(algorithms(), roots, intermediates, chain_at, usage, None, Some(&acceptable));
        self.accept(&path.map_err(no_anchor)?, anchors_at)
    }

    /// What webpki leaves to its caller: the anchor's own validity and path length, and revocation.
    fn accept(&self, path: &VerifiedPath<'_>, now: UnixTime) -> Result<usize, Error> {
        let trust = &self.trust.value;
        let position =
            trust.roots.roots.iter().position(|root| std::ptr::eq(root, path.anchor())).ok_or(Error::UnknownIssuer)?;
        let anchor = &trust.anchors[position];
        let (not_before, not_after) = (unix(anchor.facts.not_before), unix(anchor.facts.not_after));
        if now < not_before {
            return Err(Error::CertNotValidYet { time: now, not_before });
        }
        if now > not_after {
            return Err(Error::CertExpired { time: now, not_after });
        }
        // Self-issued certificates do not count (RFC 5280 section 4.2.1.9).
        let between = path.intermediate_certificates().filter(|ca| ca.issuer() != ca.subject()).count();
        if anchor.path_len.is_some_and(|limit| between > usize::try_from(limit).unwrap_or(usize::MAX)) {
            return Err(Error::PathLenConstraintViolated);
        }
        if let Some(lists) = &self.revocation {
            check_revocation(&lists.value, path, now)?;
        }
        Ok(position)
    }
}

/// An anchor with the issuer's name and another key, as after a re-keying, is no anchor of this chain. webpki calls that
/// a bad signature.
fn no_anchor(error: Error) -> Error {
    match error {
        Error::InvalidSignatureForPublicKey => Error::UnknownIssuer,
        other => other,
    }
}

/// What the lists say of the certificates of a path. That one is revoked outweighs that nothing is known of another.
fn check_revocation(lists: &RevocationLists, path: &VerifiedPath<'_>, now: UnixTime) -> Result<(), Error> {
    let mut verdict = Ok(());
    let looked_at = match lists.policy.depth {
        RevocationDepth::Chain => usize::MAX,
        RevocationDepth::Leaf => 1,
    };
    let certificates = std::iter::once(&**path.end_entity()).chain(path.intermediate_certificates());
    let keys = path.intermediate_certificates().map(webpki::Cert::subject_public_key_info);
    let keys = keys.chain(std::iter::once(webpki::spki_for_anchor(path.anchor())));
    for (certificate, key) in certificates.zip(keys).take(looked_at) {
        let contents = super::der::expect(super::der::SEQUENCE, &key).ok_or(Error::BadDer)?.0.contents;
        let at = UNIX_EPOCH + Duration::from_secs(now.as_secs());
        let doubt = match lists.status((certificate.issuer(), contents), certificate.serial(), at) {
            Status::Good => continue,
            Status::Revoked => return Err(Error::CertRevoked),
            Status::Over { next_update } => Error::CrlExpired { time: now, next_update: unix(next_update) },
            Status::Unknown if lists.policy.unknown == UnknownStatus::Refuse => Error::UnknownRevocationStatus,
            Status::Unknown => continue,
        };
        verdict = verdict.and(Err(doubt));
    }
    verdict
}

fn unix(time: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO))
}
