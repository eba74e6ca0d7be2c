//! Settings of the process: defaults filled in, and what must fit together.

use std::{net::SocketAddr, time::Duration};

use super::Compiler;
use crate::{
    config::{
        Document, Field, Spot,
        problem::{Fault, shown},
        scalar::{duration, size},
        section::settings::{self, Admin},
    },
    plan::{AdminPlan, Development, Limits, LogPlan, ReloadSettings, Timeouts, TransportSettings},
};

/// From complete on disk to in use everywhere, in the worst case that the settings permit. The promise is 30 s; the
/// rest is for reading, checking and closing.
pub(super) const RELOAD_BOUND: Duration = Duration::from_secs(25);
/// The most that one connection may make a peer send without reading it, in bytes.
const MAX_WINDOW: u64 = 4 << 30;

/// What the file allows that no production system should. What could not be read allows nothing.
pub(super) fn development(document: &Document) -> Development {
    let Some(written) = document.development.value() else { return Development::default() };
    Development {
        allow_remote_plaintext: written.allow_remote_plaintext.or(false),
        allow_unverified_peers: written.allow_unverified_peers.or(false),
    }
}

impl Compiler<'_> {
    pub(super) fn admin(&self) -> AdminPlan {
        let Some(written) = self.document.admin.given() else { return AdminPlan::default() };
        let Admin { listen, scrape, actions } = &written.value;
        if let Some(listen) = listen.given().filter(|listen| !listen.value.ip().is_loopback()) {
            let fault =
                |message: &str, allowed: &str| Fault::new(format!("`{}` {message}", listen.value.ip()), allowed);
            if !self.allows(|development| &development.allow_remote_plaintext) {
                let hint = "what others may see is served by `admin.scrape`".to_owned();
                self.report(&listen.spot, fault("is not a loopback address", LOOPBACK).hint(Some(hint)));
            } else if actions.or(false) {
                self.report(&listen.spot, fault("is open to others, and `actions` is on", "a loopback address"));
            }
        }
        if let Some(actions) = actions.given().filter(|actions| actions.value && listen.is_absent()) {
            self.report(&actions.spot, Fault::new("there is no `admin.listen` to take actions", "`listen` beside it"));
        }
        AdminPlan { listen: copied(listen), scrape: copied(scrape), actions: actions.or(false) }
    }

    pub(super) fn log(&self) -> LogPlan {
        let default = LogPlan::default();
        let Some(written) = self.document.log.value() else { return default };
        LogPlan { format: written.format.or(default.format), level: written.level.or(default.level) }
    }

    pub(super) fn workers(&self) -> usize {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from).min(256);
        self.document.workers.value().map_or(cpus, |workers| number(*workers))
    }

    pub(super) fn limits(&self) -> Limits {
        let default = Limits::default();
        let Some(written) = self.document.limits.given() else { return default };
        let limits = &written.value;
        let narrow = |field: &Field<u64>, default: u32| {
            field.value().map_or(default, |value| u32::try_from(*value).unwrap_or(u32::MAX))
        };
        let plan = Limits {
            connections: limits.connections.value().map_or(default.connections, |value| number(*value)),
            handshakes: limits.handshakes.value().map_or(default.handshakes, |value| number(*value)),
            streams: narrow(&limits.streams, default.streams),
            stream_window: narrow(&limits.stream_window, default.stream_window),
            datagram_buffer: limits.datagram_buffer.value().map_or(default.datagram_buffer, |value| number(*value)),
        };
        // The window of a connection is that of all its streams: unpaired streams must never hold credit that paired
        // ones need.
        let window = u64::from(plan.streams) * u64::from(plan.stream_window);
        if window > MAX_WINDOW {
            let spot = first_of([spot(&limits.stream_window), spot(&limits.streams)]).unwrap_or(&written.spot);
            let message = format!(
                "{} streams of {} each open a window of {}",
                plan.streams,
                size::text(plan.stream_window.into()),
                size::text(window)
            );
            self.report(
                spot,
                Fault::new(message, format!("`streams` times `stream_window` at most {}", size::text(MAX_WINDOW))),
            );
        }
        plan
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        let default = Timeouts::default();
        let Some(written) = self.document.timeouts.given() else { return default };
        let timeouts = &written.value;
        let plan = Timeouts {
            handshake: timeouts.handshake.or(default.handshake),
            connect: timeouts.connect.or(default.connect),
            idle: timeouts.idle.or(default.idle),
            keep_alive: timeouts.keep_alive.or(default.keep_alive),
            loopback_idle: timeouts.loopback_idle.or(default.loopback_idle),
            close_grace: timeouts.close_grace.or(default.close_grace),
            drain: timeouts.drain.or(default.drain),
        };
        if plan.keep_alive * 2 >= plan.idle && !timeouts.keep_alive.is_invalid() && !timeouts.idle.is_invalid() {
            let spot = first_of([spot(&timeouts.keep_alive), spot(&timeouts.idle)]).unwrap_or(&written.spot);
            let message = format!(
                "`keep_alive` is {} and `idle` is {}: one lost packet would end a quiet connection",
                duration::text(plan.keep_alive),
                duration::text(plan.idle)
            );
            self.report(spot, Fault::new(message, "`keep_alive` less than half of `idle`"));
        }
        let invalid = timeouts.loopback_idle.is_invalid() || timeouts.connect.is_invalid();
        if plan.loopback_idle <= plan.connect && !invalid {
            let spot = first_of([spot(&timeouts.loopback_idle), spot(&timeouts.connect)]).unwrap_or(&written.spot);
            let message = format!(
                "`loopback_idle` is {} and `connect` is {}: a component would be given up while its peer is dialled",
                duration::text(plan.loopback_idle),
                duration::text(plan.connect)
            );
            self.report(spot, Fault::new(message, "`loopback_idle` more than `connect`"));
        }
        plan
    }

    pub(super) fn transport(&self) -> TransportSettings {
        let default = TransportSettings::default();
        let Some(written) = self.document.transport.value() else { return default };
        TransportSettings {
            segmentation_offload: written.segmentation_offload.or(default.segmentation_offload),
            socket_buffer: written.socket_buffer.value().map_or(default.socket_buffer, |value| number(*value)),
            tcp_keep_alive: written.tcp_keep_alive.or(default.tcp_keep_alive),
        }
    }

    pub(super) fn reload(&self) -> ReloadSettings {
        let default = ReloadSettings::default();
        let Some(written) = self.document.reload.given() else { return default };
        let reload = &written.value;
        let plan = ReloadSettings {
            poll: reload.poll.or(default.poll),
            debounce: reload.debounce.or(default.debounce),
            debounce_max: reload.debounce_max.or(default.debounce_max),
        };
        if plan.debounce > plan.debounce_max && !reload.debounce.is_invalid() && !reload.debounce_max.is_invalid() {
            let spot = first_of([spot(&reload.debounce), spot(&reload.debounce_max)]).unwrap_or(&written.spot);
            let message = format!(
                "`debounce` is {} and `debounce_max` is {}",
                duration::text(plan.debounce),
                duration::text(plan.debounce_max)
            );
            self.report(spot, Fault::new(message, "`debounce` no longer than `debounce_max`"));
        }
        if plan.poll + plan.debounce_max > RELOAD_BOUND {
            let spot = first_of([spot(&reload.poll), spot(&reload.debounce_max)]).unwrap_or(&written.spot);
            let message =
                format!("`poll` and `debounce_max` add up to {}", duration::text(plan.poll + plan.debounce_max));
            self.report(spot, Fault::new(message, format!("at most {} together", duration::text(RELOAD_BOUND))));
        }
        plan
    }

    /// Reports a plaintext end that is not on this machine, unless the file allows it.
    pub(super) fn check_plaintext(&self, spot: &Spot, address: SocketAddr) {
        if !address.ip().is_loopback() && !self.allows(|development| &development.allow_remote_plaintext) {
            let message = format!("plaintext on {}, which is not a loopback address", shown(&address.ip().to_string()));
            self.report(spot, Fault::new(message, LOOPBACK));
        }
    }

    /// Whether `development` allows something, or would if it could be read: one mistake is said once, and a file that
    /// has it makes no plan.
    pub(super) fn allows(&self, flag: impl Fn(&settings::Development) -> &Field<bool>) -> bool {
        match &self.document.development {
            Field::Absent => false,
            Field::Invalid => true,
            Field::Given(development) => {
                let flag = flag(&development.value);
                flag.is_invalid() || flag.or(false)
            }
        }
    }
}

/// What is allowed for a plaintext address.
const LOOPBACK: &str = "a loopback address (127.0.0.0/8 or ::1), or `development: { allow_remote_plaintext: true }`";

fn copied<T: Copy>(field: &Field<T>) -> Option<T> {
    field.value().copied()
}

fn spot<T>(field: &Field<T>) -> Option<&Spot> {
    field.given().map(|given| &given.spot)
}

fn first_of<const N: usize>(spots: [Option<&Spot>; N]) -> Option<&Spot> {
    spots.into_iter().flatten().next()
}

fn number(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
