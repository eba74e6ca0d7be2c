//! One revocation list: parsed, and signed by an anchor.

use std::{cmp::Ordering, collections::HashSet, fmt, time::SystemTime};

use webpki::CertRevocationList;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

use crate::{
    material::{
        certificate::{hex, printable, time},
        der::{self, Signed},
        provider,
        reason::{Fault, Reason},
        trust::{Anchor, TrustBundle},
    },
    observe::status::rfc3339,
};

/// One list.
pub struct RevocationList {
    /// Its issuer, in words.
    pub issuer: String,
    /// Its number in hexadecimal (RFC 5280 section 5.2.3), if it bears one.
    pub number: Option<String>,
    /// When it was issued.
    pub this_update: SystemTime,
    /// When the next one is due.
    pub next_update: SystemTime,
    /// How many serials it names.
    pub entries: usize,
    /// SHA-256 over all of it.
    pub(super) digest: [u8; 32],
    /// Which of the files it stands in.
    pub(super) file: usize,
    /// Contents of the issuer's name and public key: what a certificate's issuer must be for the list to speak of it.
    issuer_name: Vec<u8>,
    issuer_spki: Vec<u8>,
    /// The number's octets, big-endian, without leading zeros.
    ordinal: Option<Vec<u8>>,
    serials: HashSet<Box<[u8]>>,
    parsed: CertRevocationList<'static>,
}

impl fmt::Debug for RevocationList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevocationList")
            .field("issuer", &self.issuer)
            .field("number", &self.number)
            .field("next_update", &self.next_update)
            .field("entries", &self.entries)
            .finish_non_exhaustive()
    }
}

impl RevocationList {
    /// Contents of its issuer's name and public key.
    pub(super) fn issuer(&self) -> (&[u8], &[u8]) {
        (&self.issuer_name, &self.issuer_spki)
    }

    /// Whether `anchor` issued it.
    pub(super) fn is_of(&self, anchor: &Anchor) -> bool {
        let name = der::expect(der::SEQUENCE, &anchor.subject).map(|(name, _)| name.contents);
        self.issuer_spki == anchor.spki && name == Some(&self.issuer_name)
    }

    /// Whether it was issued before `other`, a list of the same issuer: by their numbers, and where one has none, or both
    /// the same, by their times.
    pub(super) fn is_older_than(&self, other: &Self) -> bool {
        let by_number = match (&self.ordinal, &other.ordinal) {
            (Some(own), Some(others)) => own.len().cmp(&others.len()).then_with(|| own.cmp(others)),
            _ => Ordering::Equal,
        };
        by_number.then(self.this_update.cmp(&other.this_update)).is_lt()
    }

    /// Its number and time, for people.
    pub(super) fn edition(&self) -> String {
        let issued = rfc3339(self.this_update);
        match &self.number {
            Some(number) => format!("number 0x{number}, issued {issued}"),
            None => format!("without a number, issued {issued}"),
        }
    }

    pub(super) fn names(&self, serial: &[u8]) -> bool {
        self.serials.contains(serial)
    }

    pub(super) fn serials(&self) -> impl Iterator<Item = &[u8]> {
        self.serials.iter().map(AsRef::as_ref)
    }

    /// Whether it refuses `serial` (contents). An entry that cannot be read was refused when the list was parsed.
    pub(super) fn revokes(&self, serial: &[u8]) -> bool {
        !matches!(self.parsed.find_serial(serial), Ok(None))
    }
}

/// What became of a list.
pub(super) enum Found {
    List(Box<RevocationList>),
    LeftOut(LeftOut),
}

/// A list that no anchor signed. Whether the others can do without it is not for it to say.
pub(super) struct LeftOut {
    /// DER of its issuer's name.
    pub(super) issuer: Vec<u8>,
    pub(super) fault: Fault,
}

/// Reads a list that stands in `file`.
pub(super) fn read(der: &[u8], file: usize, trust: &TrustBundle, now: SystemTime) -> Result<Found, Fault> {
    let bad = || Fault::new(Reason::BadDer, "it cannot be parsed");
    let signed = Signed::parse(der).ok_or_else(bad)?;
    let parsed = webpki::OwnedCertRevocationList::from_der(der).map_err(|error| match error {
        webpki::Error::UnsupportedDeltaCrl
        | webpki::Error::UnsupportedIndirectCrl
        | webpki::Error::UnsupportedCrlVersion
        | webpki::Error::UnsupportedCrlIssuingDistributionPoint
        | webpki::Error::UnsupportedRevocationReasonsPartitioning
        | webpki::Error::UnsupportedCriticalExtension => {
            Fault::new(Reason::CrlUnsupported, "a delta, indirect or partitioned list, or of another version than 2")
        }
        _ => bad(),
    })?;
    let (_, facts) = CertificateRevocationList::from_der(der).map_err(|_| bad())?;
    let issuer = printable(&facts.issuer().to_string());
    let anchor = match issuer_of(&signed, facts.issuer().as_raw(), &issuer, trust) {
        Ok(anchor) => anchor,
        Err(fault) => {
            return Ok(Found::LeftOut(LeftOut { issuer: facts.issuer().as_raw().to_vec(), fault }));
        }
    };
    if !anchor.signs_revocation_lists {
        return Err(Fault::new(Reason::KeyUsage, format!("the key usage of \"{issuer}\" lacks cRLSign")));
    }
    let this_update = time(facts.last_update().timestamp());
    if this_update > now {
        let detail = format!("the list of \"{issuer}\" was issued {}, which is to come", rfc3339(this_update));
        return Err(Fault::new(Reason::CrlNotYet, detail).until(this_update));
    }
    let (name, _) = der::expect(der::SEQUENCE, &anchor.subject).ok_or_else(bad)?;
    let ordinal = facts.crl_number().map(x509_parser::num_bigint::BigUint::to_bytes_be);
    Ok(Found::List(Box::new(RevocationList {
        number: ordinal.as_deref().map(hex),
        ordinal,
        next_update: facts.next_update().map(|update| time(update.timestamp())).ok_or_else(bad)?,
        entries: facts.iter_revoked_certificates().count(),
        serials: facts.iter_revoked_certificates().map(|entry| entry.raw_serial().into()).collect(),
        digest: provider::sha256(der),
        file,
        issuer,
        this_update,
        issuer_name: name.contents.to_vec(),
        issuer_spki: anchor.spki.clone(),
        parsed: parsed.into(),
    })))
}

/// The anchor that signed a list.
fn issuer_of<'a>(
    signed: &Signed<'_>,
    name: &[u8],
    in_words: &str,
    trust: &'a TrustBundle,
) -> Result<&'a Anchor, Fault> {
    let mut namesakes = trust.anchors.iter().filter(|anchor| anchor.subject == name).peekable();
    if namesakes.peek().is_none() {
        let detail = format!("its issuer \"{in_words}\" is no anchor of the bundle");
        return Err(Fault::new(Reason::CrlUnrelated, detail));
    }
    namesakes.find(|anchor| provider::verify(signed, &anchor.spki).is_ok()).ok_or_else(|| {
        Fault::new(Reason::CrlBadSignature, format!("\"{in_words}\" did not sign it: another key, or altered"))
    })
}
