//! Cuts one direction into frames, whatever pieces it comes in, and hands on what it cuts.

use super::head::Head;

/// The beginning of what a client sends (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Takes bytes in order.
pub(in crate::bridge) type Forward<'a> = &'a mut dyn FnMut(&[u8]);

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It passes as it came.
    Pass,
    /// It passes with the head as it is now.
    PassChanged,
    /// It goes no further. Only for frames that the head holds whole.
    Keep,
}

/// The boundary between frames is lost: what follows means nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost;

/// Who follows the frames of one direction.
pub(super) trait Follow {
    /// A frame begins; nothing of it has been forwarded.
    fn begins(&mut self, head: &mut Head) -> Result<Verdict, Lost>;

    /// A frame is over; all of it has been handed on.
    fn over(&mut self);

    /// A boundary between frames: what is to stand there.
    fn inject(&mut self) -> Option<Injected>;
}

/// What is put between two frames.
pub(super) type Injected = [u8; super::head::MOST];

/// One direction.
#[derive(Debug)]
pub(super) struct Cutter {
    head: Head,
    /// Octets of the current frame's payload still to come.
    left: u32,
    /// Octets of the preface still to come.
    preface: u8,
}

impl Cutter {
    /// What a client sends, the preface first.
    pub(super) fn of_client() -> Self {
        Self { preface: u8::try_from(PREFACE.len()).expect("it is short"), ..Self::of_server() }
    }

    /// What a server sends: frames from the start.
    pub(super) fn of_server() -> Self {
        Self { head: Head::default(), left: 0, preface: 0 }
    }

    /// Whether what was forwarded so far ends where a frame does.
    pub(super) fn at_boundary(&self) -> bool {
        self.left == 0 && self.preface == 0
    }

    /// Hands on `bytes` and follows the frames in them. What lies together is forwarded together.
    ///
    /// # Errors
    /// The boundary is lost. All of `bytes` has been forwarded, untouched from there on.
    pub(super) fn feed(&mut self, bytes: &[u8], follow: &mut impl Follow, forward: Forward<'_>) -> Result<(), Lost> {
        let mut run = Run { bytes, from: 0, to: 0 };
        let result = self.cut(&mut run, follow, forward);
        if result.is_err() {
            self.release(forward);
            run.to = bytes.len();
        }
        run.flush(forward);
        result
    }

    /// Hands on what was held back, since it will never be whole or nobody reads it any more.
    pub(super) fn release(&mut self, forward: Forward<'_>) {
        if !self.head.bytes().is_empty() {
            forward(self.head.bytes());
            self.head.clear();
        }
    }

    fn cut(&mut self, run: &mut Run<'_>, follow: &mut impl Follow, forward: Forward<'_>) -> Result<(), Lost> {
        self.preface(run)?;
        while self.preface == 0 {
            self.inject(run, follow, forward);
            if run.rest().is_empty() {
                return Ok(());
            }
            if self.left == 0 {
                let Some(left) = self.head(run, follow, forward)? else { return Ok(()) };
                self.left = left;
            }
            let here = run.rest().len().min(self.left as usize);
            run.to += here;
            self.left -= u32::try_from(here).expect("at most what is left");
            if self.left > 0 {
                return Ok(());
            }
            follow.over();
        }
        Ok(())
    }

    fn preface(&mut self, run: &mut Run<'_>) -> Result<(), Lost> {
        let expected = &PREFACE[PREFACE.len() - usize::from(self.preface)..];
        let here = expected.len().min(run.rest().len());
        if run.rest()[..here] != expected[..here] {
            return Err(Lost);
        }
        run.to += here;
        self.preface -= u8::try_from(here).expect("at most what is missing");
        Ok(())
    }

    /// Reads the head of the next frame: what is left of it behind the head, or `None` when more must come first.
    fn head(&mut self, run: &mut Run<'_>, follow: &mut impl Follow, forward: Forward<'_>) -> Result<Option<u32>, Lost> {
        let held = self.head.bytes().len();
        let taken = self.head.fill(run.rest());
        if !self.head.is_whole() {
            run.flush(forward);
            run.skip(taken);
            return Ok(None);
        }
        let verdict = match follow.begins(&mut self.head) {
            Ok(verdict) => verdict,
            Err(lost) => {
                // What came with these bytes goes on with these bytes.
                self.head.truncate(held);
                return Err(lost);
            }
        };
        if verdict == Verdict::Pass && held == 0 {
            run.to += taken;
        } else {
            run.flush(forward);
            run.skip(taken);
            if verdict != Verdict::Keep {
                forward(self.head.bytes());
            }
        }
        let left = self.head.left();
        self.head.clear();
        Ok(Some(left))
    }

    fn inject(&self, run: &mut Run<'_>, follow: &mut impl Follow, forward: Forward<'_>) {
        if self.left == 0 {
            while let Some(frame) = follow.inject() {
                run.flush(forward);
                forward(&frame);
            }
        }
    }
}

/// Bytes that came together: what of them is forwarded, what is to be, and what has not been looked at.
struct Run<'a> {
    bytes: &'a [u8],
    from: usize,
    to: usize,
}

impl<'a> Run<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.to..]
    }

    fn flush(&mut self, forward: Forward<'_>) {
        if self.from < self.to {
            forward(&self.bytes[self.from..self.to]);
            self.from = self.to;
        }
    }

    /// Leaves out octets that are forwarded in another way. Everything before must have been flushed.
    fn skip(&mut self, count: usize) {
        self.to += count;
        self.from = self.to;
    }
}
