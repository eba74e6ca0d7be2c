//! A waker that can outlive the task that it wakes without keeping it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    task::{Wake, Waker},
};

/// Wakes whoever was set last, if anybody is.
#[derive(Debug, Default)]
pub(super) struct Bell(Mutex<Option<Waker>>);

impl Bell {
    /// Wakes `waker` from now on, or nobody.
    pub(super) fn set(&self, waker: Option<&Waker>) {
        let mut set = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (set.as_mut(), waker) {
            (Some(old), Some(new)) => old.clone_from(new),
            (_, new) => *set = new.cloned(),
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let woken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = woken {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn it_wakes_whom_it_was_given_and_holds_nobody_afterwards() {
        let (bell, count) = (Arc::new(Bell::default()), Arc::new(Count::default()));
        let left_behind = Waker::from(bell.clone());
        bell.set(Some(&Waker::from(count.clone())));
        left_behind.wake_by_ref();
        left_behind.wake_by_ref();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        bell.set(Some(&Waker::from(count.clone())));
        bell.set(None);
        left_behind.wake();
        assert_eq!((count.0.load(Ordering::Relaxed), Arc::strong_count(&count)), (1, 1));
    }
}
