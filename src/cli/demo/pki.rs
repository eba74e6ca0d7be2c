//! A throwaway PKI. Its keys live in memory and in a temporary directory, and are trusted by nobody else.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};

/// How long before now a certificate begins, so that no clock is too slow for it.
const BEFORE: Duration = Duration::from_secs(300);

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// What a leaf is to bear.
#[derive(Debug, Clone, Copy)]
pub struct LeafSpec<'a> {
    /// The common name of its subject, by which a person tells leaves apart.
    pub common_name: &'a str,
    /// Its DNS names.
    pub dns: &'a [&'a str],
    /// Its URIs.
    pub uris: &'a [&'a str],
    /// Its start.
    pub not_before: SystemTime,
    /// Its end.
    pub not_after: SystemTime,
}

/// A leaf and its key, in PEM.
pub struct Leaf {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub private_key: String,
}

impl<'a> LeafSpec<'a> {
    /// For both roles, valid from a little before now.
    pub fn named(common_name: &'a str, dns: &'a [&'a str], valid_for: Duration) -> Self {
        let now = SystemTime::now();
        Self { common_name, dns, uris: &[], not_before: now - BEFORE, not_after: now + valid_for }
    }
}

impl Authority {
    /// An authority of this name with a key of its own, valid for a day.
    ///
    /// # Errors
    /// The provider makes no key.
    pub fn new(name: &str) -> Result<Self, Error> {
        let now = SystemTime::now();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.not_before = (now - BEFORE).into();
        params.not_after = (now + Duration::from_secs(86_400)).into();
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// Its certificate, in PEM.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// A leaf with a key of its own, good for servers and clients.
    ///
    /// # Errors
    /// A name is no name, or the provider makes no key.
    pub fn issue(&self, spec: LeafSpec<'_>) -> Result<Leaf, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, spec.common_name);
        let dns = spec.dns.iter().map(|name| Ok(SanType::DnsName((*name).try_into()?)));
        let uris = spec.uris.iter().map(|uri| Ok(SanType::URI((*uri).try_into()?)));
        params.subject_alt_names = dns.chain(uris).collect::<Result<_, Error>>()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        params.not_before = spec.not_before.into();
        params.not_after = spec.not_after.into();
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Leaf { certificate: certificate.pem(), private_key: key.serialize_pem() })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

// The key never reaches an output.
impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaf").finish_non_exhaustive()
    }
}
