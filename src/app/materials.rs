//! Loads the materials, derives what every role needs of them, publishes it, and tells the observer.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use super::StartError;
use crate::{
    live::Contraction,
    material::{
        self, Generations, MaterialId, observed,
        publish::{self, Publisher, Reader},
        read::{self, ReadPolicy},
        source,
    },
    observe::Observer,
    plan::Plan,
    tls::{Configs, DeriveError},
};

/// What was loaded, and how it is published.
pub(super) struct Loaded {
    pub(super) publisher: Publisher<Configs>,
    pub(super) configs: Reader<Configs>,
    generations: Generations,
}

/// Loads every material once. A bad one is logged, and leaves its roles without configurations.
pub(super) fn load(plan: &Plan, observer: &Observer) -> Result<Loaded, StartError> {
    let now = SystemTime::now();
    let generations = material::load(plan, now);
    let configs = Configs::derive(plan, &generations).map_err(StartError::Tls)?;
    observed::tell_loaded(observer, plan, &generations, now);
    let (publisher, configs) = publish::channel(configs);
    Ok(Loaded { publisher, configs, generations })
}

/// The materials in use.
pub struct Materials {
    plan: Arc<Plan>,
    contraction: Arc<Contraction>,
    publisher: Publisher<Configs>,
    state: Mutex<State>,
}

struct State {
    generations: Generations,
    /// The files of each as they were read last.
    read: BTreeMap<MaterialId, Vec<Vec<u8>>>,
}

impl Materials {
    pub(super) fn new(
        plan: Arc<Plan>,
        contraction: Arc<Contraction>,
        Loaded { publisher, generations, .. }: Loaded,
    ) -> Self {
        let state = Mutex::new(State { generations, read: BTreeMap::new() });
        Self { plan, contraction, publisher, state }
    }

    /// Rereads all files, and publishes what has changed and is good. Blocks: not for network threads.
    ///
    /// # Errors
    ///
    /// The configurations cannot be built. Nothing is published.
    pub fn republish_now(&self) -> Result<(), DeriveError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut generations, now) = (state.generations.clone(), SystemTime::now());
        for id in MaterialId::all(&self.plan) {
            let Ok(snapshot) = read::snapshot(&source::files(&self.plan, id), ReadPolicy::default()) else { continue };
            if state.read.get(&id) == Some(&snapshot.files) {
                continue;
            }
            let file = source::files(&self.plan, id)[0].to_owned();
            let built = material::load::build(&self.plan, &generations, id, &snapshot, now)
                .map_err(|fault| fault.reject(id.name(&self.plan), &file));
            generations.record(id, built, now);
            state.read.insert(id, snapshot.files);
        }
        let configs = Arc::new(Configs::derive(&self.plan, &generations)?);
        state.generations = generations;
        self.publisher.publish(configs.clone());
        self.contraction.after_publish(&configs);
        Ok(())
    }
}
