//! Names, help texts and labels of all metrics.

use prometheus::{
    Gauge, GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    core::Collector, process_collector::ProcessCollector,
};

/// Upper bounds of `iris_upstream_connect_seconds`, in seconds: from a loopback handshake to the connect deadline.
const CONNECT_BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// All families, registered.
pub(super) struct Families {
    pub(super) reloads: IntCounterVec,
    pub(super) candidate_rejected: IntGaugeVec,
    pub(super) material_state: IntGaugeVec,
    pub(super) expiry: GaugeVec,
    pub(super) last_success: GaugeVec,
    pub(super) ready: IntGaugeVec,
    pub(super) watcher_up: IntGauge,
    pub(super) development_mode: IntGauge,
    pub(super) build_info: IntGaugeVec,
    pub(super) config_reloads: IntCounterVec,
    pub(super) clock: Gauge,
    pub(super) connections_active: IntGaugeVec,
    pub(super) connections: IntCounterVec,
    pub(super) closes: IntCounterVec,
    pub(super) handshake_failures: IntCounterVec,
    pub(super) streams: IntCounterVec,
    pub(super) bytes: IntCounterVec,
    pub(super) datagrams_dropped: IntCounterVec,
    pub(super) connect_seconds: HistogramVec,
    pub(super) recycle_pending: IntGaugeVec,
}

impl Families {
    pub(super) fn register(registry: &Registry) -> Self {
        let r = registry;
        // Fails where there is no /proc; then these are absent, and nothing else is.
        let _ = r.register(Box::new(ProcessCollector::for_self()));
        Self {
            reloads: counters(
                r,
                "iris_tls_reloads_total",
                "Reloads of a material, by what became of them.",
                &["component", "material", "result"],
            ),
            candidate_rejected: gauges(
                r,
                "iris_tls_candidate_rejected",
                "1 while what is on disk is refused.",
                &["component", "material"],
            ),
            material_state: gauges(
                r,
                "iris_tls_material_state",
                "How a material stands; exactly one state is 1.",
                &["component", "material", "state"],
            ),
            expiry: float_gauges(
                r,
                "iris_tls_certificate_expiry_timestamp_seconds",
                "Earliest end of what is in use, as Unix time; 0 while nothing is.",
                &["component", "material"],
            ),
            last_success: float_gauges(
                r,
                "iris_tls_reload_last_success_timestamp_seconds",
                "When what is in use was loaded, as Unix time; 0 while nothing is.",
                &["component", "material"],
            ),
            ready: gauges(r, "iris_ready", "1 while the component is able to do its work.", &["component"]),
            watcher_up: registered(
                r,
                IntGauge::new("iris_watcher_up", "1 while file events arrive; 0 while only the poll finds changes."),
            ),
            development_mode: registered(
                r,
                IntGauge::new(
                    "iris_development_mode",
                    "1 while the configuration permits what no production system should.",
                ),
            ),
            build_info: gauges(r, "iris_build_info", "Always 1; what runs.", &["version"]),
            config_reloads: counters(
                r,
                "iris_config_reloads_total",
                "Reloads of the configuration, by what became of them.",
                &["result"],
            ),
            clock: registered(
                r,
                Gauge::new("iris_clock_seconds", "The wall clock that validity is judged by, as Unix time."),
            ),
            connections_active: gauges(
                r,
                "iris_connections_active",
                "Connections established and not yet ended.",
                &["component", "transport"],
            ),
            connections: counters(
                r,
                "iris_connections_total",
                "Attempts to connect, by what became of them.",
                &["component", "transport", "result"],
            ),
            closes: counters(
                r,
                "iris_connection_closes_total",
                "Ends of established connections, by reason.",
                &["component", "reason"],
            ),
            handshake_failures: counters(
                r,
                "iris_handshake_failures_total",
                "Attempts that came to nothing, by reason.",
                &["component", "reason"],
            ),
            streams: counters(
                r,
                "iris_streams_total",
                "Streams relayed, of both kinds and directions.",
                &["component"],
            ),
            bytes: counters(r, "iris_bytes_total", "Stream and datagram bytes relayed.", &["component", "direction"]),
            datagrams_dropped: counters(
                r,
                "iris_datagrams_dropped_total",
                "Datagrams that the component's connection could not take: too large, or no room.",
                &["component"],
            ),
            connect_seconds: histograms(
                r,
                "iris_upstream_connect_seconds",
                "From the start of a dial to a connected upstream; failures are not in it.",
                &["component"],
            ),
            recycle_pending: gauges(
                r,
                "iris_recycle_pending",
                "Connections that are still to be closed and made again under the current generation.",
                &["component"],
            ),
        }
    }
}

/// Registers a collector that was made from constants.
fn registered<C: Collector + Clone + 'static>(registry: &Registry, made: prometheus::Result<C>) -> C {
    let collector = made.expect("names and labels are constants of this file, and well-formed");
    registry.register(Box::new(collector.clone())).expect("each name of this file is registered once");
    collector
}

fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    registered(registry, IntCounterVec::new(Opts::new(name, help), labels))
}

fn gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    registered(registry, IntGaugeVec::new(Opts::new(name, help), labels))
}

fn float_gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> GaugeVec {
    registered(registry, GaugeVec::new(Opts::new(name, help), labels))
}

fn histograms(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> HistogramVec {
    registered(registry, HistogramVec::new(HistogramOpts::new(name, help).buckets(CONNECT_BUCKETS.to_vec()), labels))
}
