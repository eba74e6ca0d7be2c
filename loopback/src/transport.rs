//! Transport settings for a path that is this host's loopback interface.

use std::sync::Arc;
use std::time::Duration;

use quinn::{AckFrequencyConfig, IdleTimeout, TransportConfig, VarInt};

use crate::congestion::LoopbackCongestion;
use crate::hello::MAX_HELLO;

/// UDP payload of loopback QUIC, in bytes, sent and received.
///
/// Larger is faster up to a point: segmentation offload sends ten of them as one, which must stay below 64 KiB together.
/// quinn's receive buffer is 2,048 times this, 13 MiB an endpoint, of which it touches what it uses.
pub const DATAGRAM_SIZE: u16 = 6528;

/// Time without a packet after which a connection is over.
const IDLE: Duration = Duration::from_secs(30);
/// Time without a packet after which one is sent. It is also how soon a quiet connection notices that the other side was
/// restarted, so it is shorter than the timeout would ask for.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// How long the far end may wait with an acknowledgement.
///
/// With the usual 25 ms whoever waits for the acknowledgement of a FIN, as a bridge does before it closes, waits that long.
const ACK_DELAY: Duration = Duration::from_millis(1);
/// Round trip before one was measured. A first datagram that is lost is sent again after about three of them, and one that
/// Iris holds while it dials, too: 30 ms, 60 ms, and so on.
const INITIAL_RTT: Duration = Duration::from_millis(10);
/// Bytes that one stream may be ahead of its reader.
const STREAM_WINDOW: u32 = 1024 * 1024;
/// Bytes that wait in a connection for acknowledgement or room at most.
const SEND_WINDOW: u64 = 8 * 1024 * 1024;

/// Transport settings that fit loopback. Stream limits and windows may be changed on the result; datagram sizes, congestion
/// control and acknowledgements are better left alone.
///
/// 100 streams of each kind, 1 MiB of window a stream, and no window of the connection: with one smaller than all stream
/// windows together, streams that nobody reads yet could hold the credit that others wait for.
#[must_use]
pub fn transport_config() -> TransportConfig {
    let mut acks = AckFrequencyConfig::default();
    // Only the delay is asked for. A threshold near the number of datagrams in the window would stall it.
    acks.max_ack_delay(Some(ACK_DELAY));
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(DATAGRAM_SIZE)
        // The interface does carry it, so a burst of losses must not be taken for a smaller path. Also below 16,383, to
        // which quinn pads Initials: a length of two bytes.
        .min_mtu(DATAGRAM_SIZE)
        .mtu_discovery_config(None)
        .congestion_controller_factory(Arc::new(LoopbackCongestion))
        .ack_frequency_config(Some(acks))
        .initial_rtt(INITIAL_RTT)
        .max_idle_timeout(Some(IdleTimeout::try_from(IDLE).expect("30 s are few milliseconds")))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .crypto_buffer_size(MAX_HELLO)
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .send_window(SEND_WINDOW);
    transport
}
