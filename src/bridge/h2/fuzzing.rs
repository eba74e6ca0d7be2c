//! For the fuzz target alone: any bytes in both directions, in any pieces, with a drain at any moment.

use super::{Phase, Watcher};

/// Frames of Iris are GOAWAY and PING, of 17 octets each; three at the most.
const INJECTED: usize = 3 * 17;
/// The most that is held back.
const HELD: usize = 17;

/// What a client begins with: the preface and empty SETTINGS.
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// What of it a server begins with.
const SETTINGS: usize = 9;

/// Feeds `data` to both directions of a watcher: frames at once if its first octet is odd, else it must greet by itself.
/// Each piece has an octet in front: who sends, what is asked for, and how long it is.
///
/// # Panics
/// When bytes were lost, added or held back beyond the bounds.
#[doc(hidden)]
pub fn fuzz_h2(data: &[u8]) {
    let mut watcher = Watcher::new();
    let (mut sent, mut passed) = ([0_usize; 2], [0_usize; 2]);
    let (greeted, mut rest) = data.split_first().map_or((false, data), |(first, rest)| (first & 1 == 1, rest));
    if greeted {
        watcher.client_sent(GREETING, &mut |bytes| assert_eq!(bytes, GREETING));
        let settings = &GREETING[GREETING.len() - SETTINGS..];
        watcher.server_sent(settings, &mut |bytes| assert_eq!(bytes, settings));
    }
    while let Some((order, piece)) = rest.split_first() {
        let length = usize::from(order >> 3).min(piece.len());
        let (piece, behind) = piece.split_at(length);
        rest = behind;
        match order & 0b110 {
            0b010 => watcher.go_away(),
            0b100 => watcher.round_trip_over(),
            0b110 => watcher.injected(&mut |bytes| passed[1] += bytes.len()),
            _ => {}
        }
        let from = usize::from(order & 1);
        sent[from] += length;
        match from {
            0 => watcher.client_sent(piece, &mut |bytes| passed[0] += bytes.len()),
            _ => watcher.server_sent(piece, &mut |bytes| passed[1] += bytes.len()),
        }
        assert!(passed[1] <= sent[1] + INJECTED && passed[0] <= sent[0], "more than there was");
        assert!(sent[1] < passed[1] + HELD && sent[0] < passed[0] + 2 * HELD, "held back");
    }
    watcher.client_ended(&mut |bytes| passed[0] += bytes.len());
    watcher.server_ended(&mut |bytes| passed[1] += bytes.len());
    assert_eq!(watcher.phase(), Phase::Opaque);
    let extra = passed[1] - sent[1];
    assert!(extra.is_multiple_of(17) && extra <= INJECTED);
    assert!(sent[0] == passed[0] || sent[0] == passed[0] + 17, "only an answer to the PING may stay");
}
