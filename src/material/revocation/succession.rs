//! What lists may follow on what lists: nobody who was refused becomes acceptable because a file grew old or short.

use std::sync::Arc;

use super::{RevocationList, RevocationLists};
use crate::material::{
    reason::{Fault, Reason},
    trust::TrustBundle,
};

/// Whether `lists` may follow on `predecessor`. Of every issuer that is still an anchor there must be a list, and one that
/// is not older than any of those in use (RFC 5280 section 5.2.3: numbers only grow).
pub(super) fn check(
    predecessor: &RevocationLists,
    lists: &[Arc<RevocationList>],
    trust: &TrustBundle,
) -> Result<(), (usize, Fault)> {
    let still_trusted = |list: &&Arc<RevocationList>| trust.anchors.iter().any(|anchor| list.is_of(anchor));
    for used in predecessor.lists.iter().filter(still_trusted) {
        let mut successors = lists.iter().filter(|list| list.issuer() == used.issuer()).peekable();
        let Some(newest) = successors.peek().copied() else {
            let detail = format!(
                "no list of \"{}\" any more, which is an anchor and has one in use ({})",
                used.issuer,
                used.edition()
            );
            return Err((used.file, Fault::new(Reason::CrlWithdrawn, detail)));
        };
        let newest = successors.fold(newest, |newest, list| if newest.is_older_than(list) { list } else { newest });
        if newest.is_older_than(used) {
            let detail = format!(
                "the list of \"{}\" ({}) is older than the one in use ({})",
                used.issuer,
                newest.edition(),
                used.edition()
            );
            return Err((newest.file, Fault::new(Reason::CrlRollback, detail)));
        }
    }
    Ok(())
}
