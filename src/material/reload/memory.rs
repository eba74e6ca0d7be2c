//! What is remembered of one material between two readings, so that equal content is judged once and counted once.

use std::{collections::VecDeque, path::PathBuf, time::SystemTime};

use crate::material::{
    read::Snapshot,
    reason::{Reason, Rejection},
};

/// Refused contents that are remembered, so that a writer that goes to and fro is counted once for each.
const REFUSED: usize = 64;

/// What was found on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// The digest of all files.
    Read([u8; 32]),
    /// What kept it from being read, and where.
    Unread(Reason, Option<PathBuf>),
}

/// The generations, of anchors and of revocation lists, by which a material is judged besides the time.
pub(super) type Judges = (Option<u64>, Option<u64>);

/// Content that was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) content: Content,
    pub(super) by: Judges,
}

/// Content that becomes good by itself.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) content: Content,
    pub(super) snapshot: Snapshot,
    pub(super) starts: SystemTime,
}

/// What is remembered of one material.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// What is in use.
    pub(super) in_use: Option<Judged>,
    /// The files of what is in use, where time alone may ask for them again: anchors end one by one.
    pub(super) source: Option<Snapshot>,
    /// What is on disk, while it is refused.
    pub(super) refused: Option<Judged>,
    /// What waits for its start.
    pub(super) held: Option<Held>,
    /// The last refusal and when it was met, also when a good one has come since.
    pub(super) last_refusal: Option<(Rejection, SystemTime)>,
    counted: VecDeque<Content>,
}

impl Memory {
    /// Whether this refusal has not been counted. It has from here on.
    pub(super) fn is_first_refusal(&mut self, content: &Content) -> bool {
        if self.counted.contains(content) {
            return false;
        }
        if self.counted.len() == REFUSED {
            self.counted.pop_front();
        }
        self.counted.push_back(content.clone());
        true
    }

    /// What is on disk is good. Files that go missing after this are missing anew.
    pub(super) fn settle(&mut self) {
        self.refused = None;
        self.counted.retain(|content| matches!(content, Content::Read(_)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_content_is_counted_once_and_the_memory_is_bounded() {
        let mut memory = Memory::default();
        let content = |number: u8| Content::Read([number; 32]);
        let missing = Content::Unread(Reason::MissingFile, None);
        assert!(memory.is_first_refusal(&content(1)) && memory.is_first_refusal(&missing));
        assert!(!memory.is_first_refusal(&content(1)) && !memory.is_first_refusal(&missing));
        memory.settle();
        assert!(!memory.is_first_refusal(&content(1)) && memory.is_first_refusal(&missing));
        for number in 0..200 {
            memory.is_first_refusal(&content(number));
        }
        assert_eq!(memory.counted.len(), REFUSED);
    }
}
