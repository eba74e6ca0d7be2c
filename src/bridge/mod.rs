//! Session to session and stream to stream: what relays bytes, and why it ended.
