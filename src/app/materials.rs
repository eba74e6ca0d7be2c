//! Materials of the running process: loaded, kept up to date, and what every role needs derived of them.

use std::sync::{Arc, OnceLock};

use crate::{
    live::Contraction,
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

/// What happens after each publication, on the thread of the materials: connections are swept. Comes before its
/// `Contraction`, which needs what the materials publish.
#[derive(Clone, Default)]
pub(super) struct Sweeping(Arc<OnceLock<Arc<Contraction>>>);

impl Sweeping {
    pub(super) fn after_publish(&self) -> AfterPublish<Configs> {
        let Self(contraction) = self.clone();
        Box::new(move |configs| {
            if let Some(contraction) = contraction.get() {
                contraction.after_publish(configs);
            }
        })
    }

    /// From now on it is told, and first of what was published until now.
    pub(super) fn begin(&self, contraction: Arc<Contraction>, configs: &Reader<Configs>) {
        let contraction = self.0.get_or_init(|| contraction);
        contraction.after_publish(&configs.load());
    }
}
