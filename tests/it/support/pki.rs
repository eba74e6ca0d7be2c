//! A throwaway PKI.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::OffsetDateTime;

use super::secrets;

/// A certificate authority.
pub(crate) struct Ca {
    issuer: CertifiedIssuer<'static, KeyPair>,
    params: CertificateParams,
    key: KeyPair,
}

/// A leaf with its key and the chain that it is shown with.
pub(crate) struct Leaf {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) chain_pem: String,
    key: KeyPair,
    serial: SerialNumber,
}

static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1_000);

/// What a leaf is to be.
pub(crate) struct LeafSpec {
    names: Vec<SanType>,
    not_before: OffsetDateTime,
    not_after: OffsetDateTime,
}

impl LeafSpec {
    /// With these DNS names, URIs or IP addresses, valid for a day.
    pub(crate) fn named(names: &[&str]) -> Self {
        let now = OffsetDateTime::now_utc();
        let san = |name: &&str| {
            if let Ok(address) = name.parse() {
                SanType::IpAddress(address)
            } else if name.contains("://") {
                SanType::URI((*name).try_into().unwrap())
            } else {
                SanType::DnsName((*name).try_into().unwrap())
            }
        };
        Self {
            names: names.iter().map(san).collect(),
            not_before: now - Duration::from_secs(3600),
            not_after: now + Duration::from_secs(86_400),
        }
    }

    /// Over since an hour.
    pub(crate) fn expired(mut self) -> Self {
        self.not_after = OffsetDateTime::now_utc() - Duration::from_secs(3600);
        self.not_before = self.not_after - Duration::from_secs(3600);
        self
    }

    /// Valid from `start` seconds from now to `end` seconds from now.
    pub(crate) fn valid(mut self, start: i64, end: i64) -> Self {
        let now = OffsetDateTime::now_utc();
        self.not_before = now + time::Duration::seconds(start);
        self.not_after = now + time::Duration::seconds(end);
        self
    }
}

impl Ca {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Self::of(params, KeyPair::generate().unwrap())
    }

    /// One whose certificate ends so many seconds from now.
    pub(crate) fn ending(name: &str, seconds: i64) -> Self {
        let mut params = Self::new(name).params;
        params.not_after = OffsetDateTime::now_utc() + time::Duration::seconds(seconds);
        Self::of(params, KeyPair::generate().unwrap())
    }

    fn of(params: CertificateParams, key: KeyPair) -> Self {
        let copy = KeyPair::from_pem(&key.serialize_pem()).unwrap();
        secrets::note_key(&key.serialize_der());
        let issuer = CertifiedIssuer::self_signed(params.clone(), key).unwrap();
        secrets::note_pem(&issuer.pem());
        Self { issuer, params, key: copy }
    }

    /// The same CA issued again: another certificate with the same name and key.
    pub(crate) fn reissued(&self) -> Self {
        let mut params = self.params.clone();
        params.not_before = OffsetDateTime::now_utc() - Duration::from_secs(1);
        params.serial_number = None;
        Self::of(params, KeyPair::from_pem(&self.key.serialize_pem()).unwrap())
    }

    /// A certificate for the key and name of `other`, signed by this one.
    pub(crate) fn cross_sign(&self, other: &Ca) -> CertificateDer<'static> {
        other.params.signed_by(&other.key, &self.issuer).unwrap().der().clone()
    }

    /// A list that revokes these leaves, in PEM.
    pub(crate) fn revoke(&self, leaves: &[&Leaf]) -> String {
        self.list(1, 86_400, leaves)
    }

    /// The same with this number, over in so many seconds.
    pub(crate) fn list(&self, number: u64, over_in: i64, leaves: &[&Leaf]) -> String {
        let now = OffsetDateTime::now_utc();
        let revoked = |leaf: &&Leaf| RevokedCertParams {
            serial_number: leaf.serial.clone(),
            revocation_time: now - Duration::from_secs(60),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: now - Duration::from_secs(60),
            next_update: now + time::Duration::seconds(over_in),
            crl_number: SerialNumber::from(number),
            issuing_distribution_point: None,
            revoked_certs: leaves.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).unwrap().pem().unwrap()
    }

    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A leaf for server and client use, valid for a day.
    pub(crate) fn leaf(&self, names: &[&str]) -> Leaf {
        self.issue(LeafSpec::named(names))
    }

    pub(crate) fn issue(&self, spec: LeafSpec) -> Leaf {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "leaf");
        params.subject_alt_names = spec.names;
        params.not_before = spec.not_before;
        params.not_after = spec.not_after;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().unwrap();
        secrets::note_key(&key.serialize_der());
        let serial = SerialNumber::from(NEXT_SERIAL.fetch_add(1, Ordering::Relaxed));
        params.serial_number = Some(serial.clone());
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        secrets::note_pem(&certificate.pem());
        Leaf { chain: vec![certificate.der().clone()], chain_pem: certificate.pem(), key, serial }
    }
}

impl Leaf {
    pub(crate) fn key_der(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }

    pub(crate) fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// Writes `NAME.crt` and `NAME.key`.
    pub(crate) fn write(&self, directory: &Path, name: &str) -> (PathBuf, PathBuf) {
        let (certificate, key) = (directory.join(format!("{name}.crt")), directory.join(format!("{name}.key")));
        std::fs::write(&certificate, &self.chain_pem).unwrap();
        std::fs::write(&key, self.key_pem()).unwrap();
        (certificate, key)
    }
}
