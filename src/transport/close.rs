//! Close codes that Iris itself sends, and what a close looks like.

use bytes::Bytes;
use quinn::{ConnectionError, VarInt};

/// Application close codes of Iris itself (RFC 9000 section 19.19). They begin at 0x49524900, far from those of HTTP/3
/// and of the protocols that pass through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// The process is stopping.
    Drain,
    /// Trust shrank. Still trusted peers are welcome again at once.
    RecycledForTrust,
    /// What the connection stood on is no longer trusted.
    TrustRemoved,
    /// No route fits.
    NoRoute,
    /// The upstream could not be reached.
    UpstreamUnreachable,
    /// The upstream's certificate was refused.
    UpstreamNotTrusted,
    /// A bound was reached.
    Limit,
    /// The identity that the connection was dialled under is about to end.
    IdentityRetired,
    /// The connection on the far side was lost without a close of its own.
    FarSideLost,
    /// A fault of Iris.
    Internal,
}

impl Code {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Drain,
        Self::RecycledForTrust,
        Self::TrustRemoved,
        Self::NoRoute,
        Self::UpstreamUnreachable,
        Self::UpstreamNotTrusted,
        Self::Limit,
        Self::IdentityRetired,
        Self::FarSideLost,
        Self::Internal,
    ];

    /// The number on the wire.
    pub fn number(self) -> u32 {
        0x4952_4900
            + match self {
                Self::Drain => 0,
                Self::RecycledForTrust => 1,
                Self::TrustRemoved => 2,
                Self::NoRoute => 3,
                Self::UpstreamUnreachable => 4,
                Self::UpstreamNotTrusted => 5,
                Self::Limit => 6,
                Self::IdentityRetired => 7,
                Self::FarSideLost => 8,
                Self::Internal => 9,
            }
    }

    /// The reason text on the wire where there is nothing more to say.
    pub fn text(self) -> &'static str {
        match self {
            Self::Drain => "iris: draining",
            Self::RecycledForTrust => "iris: recycled for trust",
            Self::TrustRemoved => "iris: no longer trusted",
            Self::NoRoute => "iris: no route",
            Self::UpstreamUnreachable => "iris: upstream unreachable",
            Self::UpstreamNotTrusted => "iris: upstream not trusted",
            Self::Limit => "iris: limit reached",
            Self::IdentityRetired => "iris: identity retired",
            Self::FarSideLost => "iris: far side lost",
            Self::Internal => "iris: internal error",
        }
    }

    /// A close with this code and its own text.
    pub fn close(self) -> Close {
        Close { code: self.number().into(), reason: Bytes::from_static(self.text().as_bytes()) }
    }

    /// A close with this code that says more: its own text, a colon and `detail`.
    pub fn close_because(self, detail: &str) -> Close {
        Close { code: self.number().into(), reason: Bytes::from(format!("{}: {detail}", self.text())) }
    }
}

/// An application close: code and reason phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    /// The code.
    pub code: VarInt,
    /// The reason phrase, UTF-8 by convention.
    pub reason: Bytes,
}

impl Close {
    /// The close to pass on when a connection ended with `error`: the peer's own when it sent one, or word that it was
    /// lost.
    pub fn passed_on(error: &ConnectionError) -> Self {
        match error {
            ConnectionError::ApplicationClosed(close) => Self { code: close.error_code, reason: close.reason.clone() },
            ConnectionError::TimedOut => Code::FarSideLost.close_because("timed out"),
            ConnectionError::Reset => Code::FarSideLost.close_because("reset by peer"),
            ConnectionError::ConnectionClosed(close) => {
                Code::FarSideLost.close_because(&format!("transport error {}", close.error_code))
            }
            _ => Code::FarSideLost.close(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_and_texts_are_distinct() {
        assert_eq!(Code::ALL.iter().map(|code| code.number()).collect::<HashSet<_>>().len(), Code::ALL.len());
        assert_eq!(Code::ALL.iter().map(|code| code.text()).collect::<HashSet<_>>().len(), Code::ALL.len());
    }
}
