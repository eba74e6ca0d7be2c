//! Who is connected, as `/status` shows it.

use crate::{
    observe::{
        escape,
        labels::Direction,
        status::{CONNECTIONS, ConnectionRow, ConnectionsRow},
    },
    plan::Plan,
    tls::Standing,
};

use super::{Connection, Registry};

/// The rows of those that are connected now: the longest standing first, and not more than can be read.
pub fn rows(registry: &Registry, plan: &Plan) -> ConnectionsRow {
    let mut live = registry.snapshot();
    live.sort_by_key(|connection| connection.since);
    let first = live.iter().take(CONNECTIONS).map(|connection| row(connection, plan)).collect();
    ConnectionsRow { total: live.len(), first }
}

fn row(connection: &Connection, plan: &Plan) -> ConnectionRow {
    let (far, traffic) = (connection.far(), connection.traffic());
    let bytes = |direction| traffic.map_or(0, |traffic| traffic.bytes_passed(direction));
    let standings = [Some(&connection.accepted), far.map(|far| &far.footing)];
    ConnectionRow {
        listener: plan.listener(connection.listener).name.clone(),
        upstream: plan.upstream(connection.upstream).name.clone(),
        peer: connection.peer,
        server_name: connection.server_name.as_deref().map(|name| escape::text(name, escape::NAME)),
        alpn: far.and_then(|far| far.alpn.as_deref()).map(|alpn| escape::bytes(alpn, escape::NAME)),
        age_seconds: connection.since.elapsed().as_secs(),
        streams: traffic.map_or(0, |traffic| traffic.streams()),
        bytes_upstream: bytes(Direction::Upstream),
        bytes_downstream: bytes(Direction::Downstream),
        generations: standings.into_iter().flatten().flat_map(|footing| generations(&footing.standing, plan)).collect(),
    }
}

/// `name#sequence` of each generation that one side stands on.
fn generations(standing: &Standing, plan: &Plan) -> Vec<String> {
    let identity = standing.identity.map(|(id, sequence)| format!("{}#{sequence}", plan.identity(id).name));
    let trust = standing.trust.map(|(id, sequence)| format!("{}#{sequence}", plan.trust(id).name));
    identity.into_iter().chain(trust).collect()
}
