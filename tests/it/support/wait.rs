//! Waiting on state, never on time.

use std::{future::Future, time::Duration};

/// Far longer than anything takes on a busy machine of two cores.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The outcome of `future`, or a failure that says what was waited for.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("still waiting after {PATIENCE:?}: {what}"),
    }
}

/// Asks again and again until `look` is true.
pub(crate) async fn until(what: &str, mut look: impl FnMut() -> bool) {
    within(what, async {
        while !look() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
