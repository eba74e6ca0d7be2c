//! The QUIC version number of loopback QUIC.

use quinn_proto::crypto::UnsupportedVersion;

/// The QUIC version that loopback endpoints speak, and the only one: the bytes of `IRIS`.
///
/// It is neither a reserved version (`0x?a?a?a?a`) nor in the range of the IETF (`0x0000????`), RFC 9000 section 15. A TLS
/// endpoint that meets a loopback endpoint, on either side, therefore fails in one round trip with a version mismatch.
/// With version 1 on both they would wait for one another until a timer ends it.
pub const VERSION: u32 = 0x4952_4953;

/// The second lock. The first is the endpoint's list of supported versions; this one holds when somebody puts the
/// provider into an endpoint of his own that lists other versions too.
pub(crate) fn check(version: u32) -> Result<(), UnsupportedVersion> {
    if version == VERSION { Ok(()) } else { Err(UnsupportedVersion) }
}
