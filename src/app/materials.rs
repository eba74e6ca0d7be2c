//! Loads the materials, derives what every role needs of them, and tells the observer.

use std::time::SystemTime;

use super::StartError;
use crate::{
    material::{
        self, observed,
        publish::{self, Publisher, Reader},
    },
    observe::Observer,
    plan::Plan,
    tls::Configs,
};

/// Loads every material once. A bad one is logged, and leaves its roles without configurations.
pub(super) fn load(plan: &Plan, observer: &Observer) -> Result<(Publisher<Configs>, Reader<Configs>), StartError> {
    let now = SystemTime::now();
    let generations = material::load(plan, now);
    let configs = Configs::derive(plan, &generations).map_err(StartError::Tls)?;
    observed::tell_loaded(observer, plan, &generations, now);
    Ok(publish::channel(configs))
}
