//! For the fuzz target alone: any bytes in both directions, in any pieces, with a drain at any moment.

use super::{Phase, Watcher};

/// Frames of Iris are GOAWAY and PING, of 17 octets each; three at the most.
const INJECTED: usize = 3 * 17;
/// The most that is held back.
const HELD: usize = 17;

/// Feeds `data` to both directions of a watcher. Each piece has an octet in front: who sends, what is asked for, and how
/// long it is.
///
/// # Panics
/// When bytes were lost, added or held back beyond the bounds.
#[doc(hidden)]
pub fn fuzz_h2(data: &[u8]) {
    let mut watcher = Watcher::new();
    let (mut sent, mut passed) = ([0_usize; 2], [0_usize; 2]);
    let mut rest = data;
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
