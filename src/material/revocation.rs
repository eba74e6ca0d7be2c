//! Revocation lists (RFC 5280 section 5) beside a trust bundle: each signed by the key of one of its anchors, so that
//! no signature needs to be verified again when a peer comes. Pure: bytes, bundle and the time go in.
//!
//! What a list names is refused, at any depth of a chain, also when the list is past its next update. Issuers without
//! a list are not asked about: a list missing for one of them refuses nobody.

use std::{collections::HashSet, fmt, time::SystemTime};

use webpki::CertRevocationList;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

use super::{
    certificate::{hex, printable, time},
    der::{self, Signed},
    pem::{self, Label},
    provider,
    reason::{Fault, Reason, Warning},
    trust::{Anchor, TrustBundle},
};

/// The lists beside one bundle.
#[derive(Debug)]
pub struct RevocationLists {
    /// In the order of the files.
    pub lists: Vec<RevocationList>,
    /// The earliest of their next updates.
    pub next_update: SystemTime,
    /// What is odd about them.
    pub warnings: Vec<Warning>,
}

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
    /// Contents of the issuer's name and public key: what a certificate's issuer must be for the list to speak of it.
    issuer_name: Vec<u8>,
    issuer_spki: Vec<u8>,
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

impl RevocationLists {
    /// Whether `successor` names something that `self` does not.
    pub fn contracts_to(&self, successor: &Self) -> bool {
        let named = |list: &RevocationList, serial: &[u8]| {
            let mut own = self.lists.iter().filter(|own| own.is_of_the_issuer_of(list));
            own.any(|own| own.serials.contains(serial))
        };
        successor.lists.iter().any(|list| !list.serials.iter().all(|serial| named(list, serial)))
    }

    /// Whether some list of the issuer with this name and key (contents of both) names `serial` (contents).
    pub(crate) fn is_revoked(&self, issuer_name: &[u8], issuer_spki: &[u8], serial: &[u8]) -> bool {
        self.lists
            .iter()
            .filter(|list| list.issuer_name == issuer_name && list.issuer_spki == issuer_spki)
            // An entry that cannot be read was refused when the list was parsed.
            .any(|list| !matches!(list.parsed.find_serial(serial), Ok(None)))
    }

    /// Whether some list names `serial` (contents), whoever's: a hint, far cheaper than a verdict.
    pub(crate) fn mentions(&self, serial: &[u8]) -> bool {
        self.lists.iter().any(|list| list.serials.contains(serial))
    }
}

impl RevocationList {
    fn is_of_the_issuer_of(&self, other: &Self) -> bool {
        self.issuer_name == other.issuer_name && self.issuer_spki == other.issuer_spki
    }
}

/// Builds the lists of some files, or says why these make none.
pub fn build(files: &[&[u8]], trust: &TrustBundle, now: SystemTime) -> Result<RevocationLists, (usize, Fault)> {
    let mut lists = Vec::new();
    for (position, bytes) in files.iter().enumerate() {
        lists.extend(of_file(bytes, trust, now).map_err(|fault| (position, fault))?);
    }
    let mut warnings = Vec::new();
    if lists.iter().any(|list: &RevocationList| list.next_update < now) {
        warnings.push(Warning::CrlExpired);
    }
    let covered = |anchor: &Anchor| lists.iter().any(|list| list.issuer_spki == anchor.spki);
    if !trust.anchors.iter().all(covered) {
        warnings.push(Warning::CrlIncomplete);
    }
    let next_update = lists.iter().map(|list| list.next_update).min();
    match next_update {
        Some(next_update) => Ok(RevocationLists { lists, next_update, warnings }),
        None => Err((0, Fault::new(Reason::NoCrl, "no file"))),
    }
}

fn of_file(bytes: &[u8], trust: &TrustBundle, now: SystemTime) -> Result<Vec<RevocationList>, Fault> {
    let blocks = pem::read(bytes)?;
    let labels: Vec<&str> = blocks.iter().map(|block| block.label.name()).collect();
    if !blocks.iter().any(|block| block.label == Label::Crl) {
        let detail = match labels.as_slice() {
            [] => "text without any PEM block".to_owned(),
            labels => format!("the blocks are {}", labels.join(", ")),
        };
        return Err(Fault::new(Reason::NoCrl, detail));
    }
    if let Some(stranger) = blocks.iter().find(|block| block.label != Label::Crl) {
        let detail = format!("a block {} in line {} has no business here", stranger.label.name(), stranger.line);
        return Err(Fault::new(Reason::UnexpectedBlock, detail));
    }
    blocks
        .iter()
        .map(|block| {
            list(&block.content, trust, now)
                .map_err(|fault| Fault { detail: format!("list of line {}: {}", block.line, fault.detail), ..fault })
        })
        .collect()
}

fn list(der: &[u8], trust: &TrustBundle, now: SystemTime) -> Result<RevocationList, Fault> {
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
    let anchor = issuer_of(&signed, facts.issuer().as_raw(), &issuer, trust)?;
    let this_update = time(facts.last_update().timestamp());
    if this_update > now {
        return Err(
            Fault::new(Reason::CrlNotYet, format!("the list of \"{issuer}\" is of the future")).until(this_update)
        );
    }
    let (name, _) = der::expect(der::SEQUENCE, &anchor.subject).ok_or_else(bad)?;
    Ok(RevocationList {
        number: facts.crl_number().map(|number| hex(&number.to_bytes_be())),
        next_update: facts.next_update().map(|update| time(update.timestamp())).ok_or_else(bad)?,
        entries: facts.iter_revoked_certificates().count(),
        serials: facts.iter_revoked_certificates().map(|entry| entry.raw_serial().into()).collect(),
        issuer,
        this_update,
        issuer_name: name.contents.to_vec(),
        issuer_spki: anchor.spki.clone(),
        parsed: parsed.into(),
    })
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
    let anchor = namesakes.find(|anchor| provider::verify(signed, &anchor.spki).is_ok()).ok_or_else(|| {
        Fault::new(Reason::CrlBadSignature, format!("\"{in_words}\" did not sign it: another key, or altered"))
    })?;
    if !anchor.signs_revocation_lists {
        let detail = format!("the key usage of \"{in_words}\" lacks cRLSign");
        return Err(Fault::new(Reason::KeyUsage, detail));
    }
    Ok(anchor)
}
