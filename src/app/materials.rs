//! Loads the materials, publishes what was derived from them, and tells the observer.

use std::time::SystemTime;

use super::{StartError, describe};
use crate::{
    material::{
        self, Generations, MaterialId,
        publish::{self, Publisher, Reader},
    },
    observe::{Lifetime, Observer, Role, labels::Material},
    plan::{IdentityId, ListenerEnd, Plan, TrustId, UpstreamEnd, Verification},
    tls::Configs,
};

/// Loads every material once. A bad one is logged, and leaves its roles without configurations.
pub(super) fn load(plan: &Plan, observer: &Observer) -> Result<(Publisher<Configs>, Reader<Configs>), StartError> {
    let now = SystemTime::now();
    let generations = material::load(plan, now);
    let configs = Configs::derive(plan, &generations).map_err(|error| StartError::Tls(error.to_string()))?;
    for id in MaterialId::all(plan) {
        describe::log(plan, &generations, id);
    }
    observer.set_materials(MaterialId::all(plan).map(|id| describe::facts(plan, &generations, id, now)).collect());
    tell(plan, observer, &generations, now);
    Ok(publish::channel(configs))
}

/// Tells every role how its materials stand.
fn tell(plan: &Plan, observer: &Observer, generations: &Generations, now: SystemTime) {
    for (position, listener) in plan.listeners.iter().enumerate() {
        let component = observer.listener(position);
        let identities = match &listener.end {
            ListenerEnd::Quic(tls) => tls.identities.as_slice(),
            ListenerEnd::LoopbackQuic => &[],
        };
        let identities = identities.iter().copied().map(MaterialId::Identity);
        let trust: Vec<TrustId> = listener.client_auths().map(|auth| auth.trust).collect();
        tell_role(component.role(Material::ServerIdentity), identities, generations, now);
        tell_trust(|material| component.role(material), &trust, plan, generations, now);
    }
    for (position, upstream) in plan.upstreams.iter().enumerate() {
        let component = observer.upstream(position);
        let UpstreamEnd::Quic { tls, .. } = &upstream.end else { continue };
        let trust: Vec<TrustId> = match tls.verification {
            Verification::Trust(id) => vec![id],
            Verification::Disabled => Vec::new(),
        };
        let identity = tls.identity.map(|id: IdentityId| MaterialId::Identity(id));
        tell_role(component.role(Material::ClientIdentity), identity, generations, now);
        tell_trust(|material| component.role(material), &trust, plan, generations, now);
    }
}

fn tell_trust<'a>(
    role: impl Fn(Material) -> Option<&'a Role>,
    trust: &[TrustId],
    plan: &Plan,
    generations: &Generations,
    now: SystemTime,
) {
    let lists = trust.iter().filter(|id| !plan.trust(**id).revocation_lists.is_empty());
    tell_role(role(Material::Trust), trust.iter().copied().map(MaterialId::Trust), generations, now);
    tell_role(role(Material::Revocation), lists.copied().map(MaterialId::Revocation), generations, now);
}

/// A role is as good as the worst of its materials.
fn tell_role(
    role: Option<&Role>,
    materials: impl IntoIterator<Item = MaterialId>,
    generations: &Generations,
    now: SystemTime,
) {
    let Some(role) = role else { return };
    let materials: Vec<MaterialId> = materials.into_iter().collect();
    let lives: Option<Vec<Lifetime>> = materials.iter().map(|id| describe::lifetime(generations, *id)).collect();
    if let Some(life) = lives.and_then(|lives| lives.into_iter().reduce(Lifetime::and)) {
        role.loaded(life, now);
    }
    for rejection in materials.iter().filter_map(|id| generations.rejection(*id)) {
        match rejection.starts {
            Some(starts) => role.held(starts),
            None => role.rejected(&rejection.to_string()),
        }
    }
}
