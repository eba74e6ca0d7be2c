//! Who is likely to be refused: a hint that costs next to nothing, so that a sweep begins with those.

use std::collections::HashSet;

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use super::{Authority, RevocationLists};

/// What to look for in chains. Borrows an authority.
#[derive(Debug)]
pub struct Casualties<'a> {
    /// Subjects of the anchors, contents only.
    subjects: HashSet<&'a [u8]>,
    lists: Option<&'a RevocationLists>,
}

impl<'a> Casualties<'a> {
    /// Those of one authority.
    pub fn of(authority: &'a Authority) -> Self {
        let roots = &authority.trust().value.roots.roots;
        Self {
            subjects: roots.iter().map(|root| root.subject.as_ref()).collect(),
            lists: authority.revocation().map(|lists| &lists.value),
        }
    }

    /// Whether a chain names no anchor as an issuer, or a revocation list names one of its serials. No verdict: names
    /// and serials prove nothing.
    pub fn are_likely(&self, chain: &[CertificateDer<'_>]) -> bool {
        let mut vouched = false;
        for certificate in chain {
            let Ok(parsed) = EndEntityCert::try_from(certificate) else { return true };
            vouched |= self.subjects.contains(parsed.issuer());
            if self.lists.is_some_and(|lists| lists.mentions(parsed.serial())) {
                return true;
            }
        }
        !vouched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::testing::{Ca, authority};

    #[test]
    fn a_stranger_and_a_named_serial_are_likely() {
        let (known, stranger) = (Ca::new("known"), Ca::new("stranger"));
        let below = known.intermediate("below");
        let (leaf, deep) = (known.leaf(&["a.test"]), below.leaf(&["b.test"]));
        let serial = EndEntityCert::try_from(&leaf.der).unwrap().serial().to_vec();
        let plain = authority(&[&known], &[]);
        let plain = Casualties::of(&plain);
        assert!(!plain.are_likely(std::slice::from_ref(&leaf.der)));
        assert!(!plain.are_likely(&[deep.der.clone(), below.certificate.der().clone()]));
        assert!(plain.are_likely(&[deep.der]));
        assert!(plain.are_likely(&[stranger.leaf(&["c.test"]).der]));
        let listed =
            authority(&[&known], &[known.revoke_serials(vec![rcgen::SerialNumber::from_slice(&serial)], -1, 7)]);
        let listed = Casualties::of(&listed);
        assert!(listed.are_likely(std::slice::from_ref(&leaf.der)));
        assert!(!listed.are_likely(&[known.leaf(&["d.test"]).der]));
    }
}
