//! What is to be observed, from the plan.

use crate::{
    observe::{
        ComponentSetup, Setup,
        labels::{Material, Transport},
    },
    plan::{Destination, ListenerEnd, ListenerPlan, Plan, UpstreamEnd, UpstreamPlan, Verification},
};

/// Every component with the materials that it needs.
pub(super) fn setup(plan: &Plan) -> Setup {
    Setup {
        listeners: plan.listeners.iter().map(|listener| listener_setup(plan, listener)).collect(),
        upstreams: plan.upstreams.iter().map(|upstream| upstream_setup(plan, upstream)).collect(),
        development: plan.development != Default::default(),
        ..Setup::default()
    }
}

fn listener_setup(plan: &Plan, listener: &ListenerPlan) -> ComponentSetup {
    let (transport, materials) = match &listener.end {
        ListenerEnd::LoopbackQuic => (Transport::QuicPlaintext, Vec::new()),
        ListenerEnd::Quic(_) => {
            let trust: Vec<_> = listener.client_auths().map(|auth| auth.trust).collect();
            let mut materials = vec![Material::ServerIdentity];
            materials.extend((!trust.is_empty()).then_some(Material::Trust));
            let revocation = trust.iter().any(|id| !plan.trust(*id).revocation_lists.is_empty());
            materials.extend(revocation.then_some(Material::Revocation));
            (Transport::Quic, materials)
        }
    };
    let address = format!("{}{}", scheme(transport), listener.address);
    ComponentSetup { name: listener.name.clone(), transport, address, materials }
}

fn upstream_setup(plan: &Plan, upstream: &UpstreamPlan) -> ComponentSetup {
    let (transport, place, materials) = match &upstream.end {
        UpstreamEnd::LoopbackQuic(address) => (Transport::QuicPlaintext, address.to_string(), Vec::new()),
        UpstreamEnd::Quic { destination, tls } => {
            let place = match destination {
                Destination::Fixed(place) => place.to_string(),
                Destination::Requested(_) => "requested".to_owned(),
            };
            let mut materials = Vec::new();
            if let Verification::Trust(id) = tls.verification {
                materials.push(Material::Trust);
                materials.extend((!plan.trust(id).revocation_lists.is_empty()).then_some(Material::Revocation));
            }
            materials.extend(tls.identity.map(|_| Material::ClientIdentity));
            (Transport::Quic, place, materials)
        }
    };
    let address = format!("{}{place}", scheme(transport));
    ComponentSetup { name: upstream.name.clone(), transport, address, materials }
}

fn scheme(transport: Transport) -> &'static str {
    match transport {
        Transport::Quic => "quic://",
        Transport::QuicPlaintext => "quic+plaintext://",
        Transport::WebTransport => "webtransport://",
        Transport::WebTransportPlaintext => "webtransport+plaintext://",
        Transport::Tls => "tls://",
        Transport::Tcp => "tcp://",
        Transport::Unix => "unix:",
    }
}
