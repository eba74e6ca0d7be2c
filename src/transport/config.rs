//! Transport parameters of both hops, from one place: whatever one constructor forgets is lost at a reload.

use std::{sync::Arc, time::Duration};

use quinn::{IdleTimeout, TransportConfig, VarInt};

use crate::plan::{Limits, Plan};

/// How many streams of each kind a peer may have open at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Bidirectional.
    pub bidi: u32,
    /// Unidirectional.
    pub uni: u32,
}

impl StreamLimits {
    /// Before the far side's limits are known.
    pub const INITIAL: Self = Self { bidi: 32, uni: 32 };

    /// HTTP/3 needs three and WebTransport a few more, on every hop.
    const LEAST_UNI: u32 = 16;

    /// The far side's limits, as far as `limits` goes: each permitted stream costs memory at once.
    pub fn mirroring(bidi: u64, uni: u64, limits: &Limits) -> Self {
        let capped = |count: u64| u32::try_from(count).unwrap_or(u32::MAX).min(limits.streams);
        Self { bidi: capped(bidi), uni: capped(uni).max(Self::LEAST_UNI) }
    }

    /// The larger of both, kind by kind: a limit once given cannot be taken back (RFC 9000 section 4.6).
    pub fn raised_to(self, other: Self) -> Self {
        Self { bidi: self.bidi.max(other.bidi), uni: self.uni.max(other.uni) }
    }
}

/// The connection's flow-control window, in bytes: enough for every permitted stream and for as many bidirectional ones
/// of ours to be full at a time.
///
/// With less, streams that cannot be paired yet would hold the credit that paired ones need to end, and the pair would
/// stand still for ever.
pub fn connection_window(limits: StreamLimits, stream_window: u32) -> u64 {
    u64::from(stream_window) * (2 * u64::from(limits.bidi) + u64::from(limits.uni))
}

/// The secured hop.
pub fn secured(plan: &Plan, streams: StreamLimits) -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config
        .enable_segmentation_offload(plan.transport.segmentation_offload)
        .max_idle_timeout(Some(idle_timeout(plan.timeouts.idle)))
        .keep_alive_interval(Some(plan.timeouts.keep_alive));
    common(&mut config, plan, streams);
    Arc::new(config)
}

/// The loopback hop.
pub fn loopback(plan: &Plan, streams: StreamLimits) -> Arc<TransportConfig> {
    let mut config = iris_loopback::transport_config();
    // Nothing on loopback loses three packets in a row but a component that is gone.
    config
        .max_idle_timeout(Some(idle_timeout(plan.timeouts.loopback_idle)))
        .keep_alive_interval(Some(plan.timeouts.loopback_idle / 3));
    common(&mut config, plan, streams);
    Arc::new(config)
}

fn common(config: &mut TransportConfig, plan: &Plan, streams: StreamLimits) {
    let window = connection_window(streams, plan.limits.stream_window);
    config
        .max_concurrent_bidi_streams(streams.bidi.into())
        .max_concurrent_uni_streams(streams.uni.into())
        .stream_receive_window(plan.limits.stream_window.into())
        .receive_window(VarInt::from_u64(window).unwrap_or(VarInt::MAX))
        .send_window(8 * u64::from(plan.limits.stream_window))
        .datagram_receive_buffer_size(Some(plan.limits.datagram_buffer))
        .datagram_send_buffer_size(plan.limits.datagram_buffer);
}

fn idle_timeout(time: Duration) -> IdleTimeout {
    IdleTimeout::try_from(time).unwrap_or_else(|_| IdleTimeout::from(VarInt::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_the_far_side_within_the_bound() {
        let limits = Limits { streams: 1_000, ..Limits::default() };
        assert_eq!(StreamLimits::mirroring(7, 0, &limits), StreamLimits { bidi: 7, uni: 16 });
        assert_eq!(StreamLimits::mirroring(u64::MAX, 5_000, &limits), StreamLimits { bidi: 1_000, uni: 1_000 });
    }

    #[test]
    fn the_window_holds_every_stream() {
        let limits = StreamLimits { bidi: 100, uni: 10 };
        assert_eq!(connection_window(limits, 1 << 20), 210 << 20);
    }
}
