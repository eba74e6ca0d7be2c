//! The order that frames of one direction stand in: SETTINGS first, header blocks in one piece (RFC 9113 sections 3.4,
//! 4.3). Whoever breaks it will hear of it from the other end; here it means that nothing more can be told.

use super::{
    cut::Lost,
    head::{Head, flag, kind},
};

/// Where one direction stands.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The SETTINGS frame that belongs to the preface has begun.
    settled: bool,
    /// The stream whose header block is under way.
    block: Option<u32>,
    ends: Ends,
}

/// What the end of a frame, or of the header block that it begins, means for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Ends {
    /// Nothing.
    #[default]
    Nothing,
    /// The sender is done with this stream.
    Half(u32),
    /// The stream is over (RFC 9113 section 6.4).
    Stream(u32),
}

impl Order {
    /// A frame begins.
    pub(super) fn begins(&mut self, head: &Head) -> Result<(), Lost> {
        let (kind, stream) = (head.kind(), head.stream());
        if !self.settled && (kind != kind::SETTINGS || head.has(flag::ACK) || stream != 0) {
            return Err(Lost);
        }
        self.settled = true;
        match (kind, self.block) {
            (kind::CONTINUATION, Some(block)) if block == stream => {}
            (kind::CONTINUATION, _) | (_, Some(_)) => return Err(Lost),
            _ => self.ends = Ends::of(head),
        }
        if matches!(kind, kind::HEADERS | kind::PUSH_PROMISE | kind::CONTINUATION) {
            self.block = (!head.has(flag::END_HEADERS)).then_some(stream);
        }
        Ok(())
    }

    /// A frame is over. What that means is told when the header block is over too.
    pub(super) fn over(&mut self) -> Ends {
        if self.block.is_some() { Ends::Nothing } else { std::mem::take(&mut self.ends) }
    }

    /// Whether another frame may stand here, if this is a boundary between frames.
    pub(super) fn has_room(&self) -> bool {
        self.settled && self.block.is_none()
    }
}

impl Ends {
    fn of(head: &Head) -> Self {
        match head.kind() {
            kind::DATA | kind::HEADERS if head.has(flag::END_STREAM) => Self::Half(head.stream()),
            kind::RST_STREAM => Self::Stream(head.stream()),
            _ => Self::Nothing,
        }
    }
}
