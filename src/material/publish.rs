//! A value that readers see whole, and that changes in one pointer swap. The only file that names `arc-swap`.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;

/// The two halves over a first value.
pub fn channel<T>(initial: impl Into<Arc<T>>) -> (Publisher<T>, Reader<T>) {
    let cell = Arc::new(ArcSwap::from(initial.into()));
    (Publisher { cell: cell.clone() }, Reader { cell })
}

/// The half that writes. There is one.
pub struct Publisher<T> {
    cell: Arc<ArcSwap<T>>,
}

impl<T> Publisher<T> {
    /// Puts `value` in place of the current one, which readers that hold it keep, and returns that.
    pub fn publish(&self, value: impl Into<Arc<T>>) -> Arc<T> {
        self.cell.swap(value.into())
    }

    /// Another half that reads.
    pub fn reader(&self) -> Reader<T> {
        Reader { cell: self.cell.clone() }
    }
}

/// A half that reads. Cheap to clone; never blocks.
pub struct Reader<T> {
    cell: Arc<ArcSwap<T>>,
}

impl<T> Reader<T> {
    /// The current value.
    pub fn load(&self) -> Arc<T> {
        self.cell.load_full()
    }
}

impl<T> Clone for Reader<T> {
    fn clone(&self) -> Self {
        Self { cell: self.cell.clone() }
    }
}

// Not derived: what is published may hold keys, and need not be `Debug`.
impl<T> fmt::Debug for Publisher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Reader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_keep_what_they_hold_and_see_what_is_new() {
        let (publisher, reader) = channel(1);
        let held = reader.load();
        assert_eq!(*publisher.publish(2), 1);
        assert_eq!((*held, *reader.clone().load(), *publisher.reader().load()), (1, 2, 2));
    }
}
