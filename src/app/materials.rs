//! Materials of the running process: loaded, kept up to date, and what every role needs derived of them.

use std::sync::Arc;

use crate::{
    material::{
        publish::Reader,
        reload::{AfterPublish, Parts, ReloadError, Reloader},
        watch::Watching,
    },
    observe::Observer,
    plan::Plan,
    tls::Configs,
};

/// Loads every material and keeps it up to date. A bad one is logged, and leaves its roles without configurations until
/// there is a good one.
pub(super) fn start(
    plan: &Arc<Plan>,
    observer: &Arc<Observer>,
    after_publish: AfterPublish<Configs>,
    watching: Watching,
) -> Result<(Reloader, Reader<Configs>), ReloadError> {
    let of = plan.clone();
    Reloader::start(Parts {
        plan: plan.clone(),
        observer: observer.clone(),
        derive: Box::new(move |generations| Ok(Configs::derive(&of, generations)?)),
        after_publish,
        watching,
    })
}

/// What happens after each publication, on the thread of the materials: nothing more, new handshakes look by themselves.
pub(super) fn after_publish() -> AfterPublish<Configs> {
    Box::new(|_| {})
}
