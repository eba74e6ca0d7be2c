//! The command language, parsed.

use std::str::FromStr;

/// What the first line of a stream asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    /// Send back what comes.
    Echo,
    /// Read everything and answer how much it was.
    Sink,
    /// Send this many bytes.
    Source(usize),
    /// Send bytes until the other side has enough.
    Flood,
    /// Send this many bytes, then reset.
    Reset(u64, usize),
    /// Send STOP_SENDING.
    Stop(u64),
    /// Finish our half at once, then read.
    HalfClose,
    /// Neither read nor write.
    Pause,
    /// Close the connection.
    Close(u64, String),
    /// Send this many bytes, finish, and close as soon as they are acknowledged.
    SourceClose(usize, u64, String),
    /// Send this many bytes, then end the process.
    DieAfter(usize),
    /// Open so many bidirectional streams, one after the other, and use each.
    OpenBidi(usize),
    /// The same with unidirectional ones.
    OpenUni(usize),
    /// Open so many bidirectional streams and reset them before any byte.
    OpenReset(usize, u64),
    /// Send so many datagrams of this size.
    Datagrams(usize, usize),
}

impl FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut rest = Words { line, words };
        Ok(match name {
            "echo" => Self::Echo,
            "sink" => Self::Sink,
            "source" => Self::Source(rest.number()?),
            "flood" => Self::Flood,
            "reset" => Self::Reset(rest.number()?, rest.number_or(0)?),
            "stop" => Self::Stop(rest.number()?),
            "half-close" => Self::HalfClose,
            "pause" => Self::Pause,
            "close" => Self::Close(rest.number()?, rest.text()),
            "source-close" => Self::SourceClose(rest.number()?, rest.number()?, rest.text()),
            "die-after" => Self::DieAfter(rest.number()?),
            "open-bidi" => Self::OpenBidi(rest.number()?),
            "open-uni" => Self::OpenUni(rest.number()?),
            "open-reset" => Self::OpenReset(rest.number()?, rest.number()?),
            "datagrams" => Self::Datagrams(rest.number()?, rest.number()?),
            _ => return Err(format!("unknown command {line:?}")),
        })
    }
}

/// The words behind a command's name.
struct Words<'a> {
    line: &'a str,
    words: std::str::SplitWhitespace<'a>,
}

impl Words<'_> {
    fn number<T: FromStr>(&mut self) -> Result<T, String> {
        let word = self.words.next().ok_or_else(|| format!("{:?} wants one number more", self.line))?;
        word.parse().map_err(|_| format!("{:?}: {word:?} is no number", self.line))
    }

    fn number_or<T: FromStr>(&mut self, default: T) -> Result<T, String> {
        if self.words.clone().next().is_none() { Ok(default) } else { self.number() }
    }

    /// All that is left, one blank between words.
    fn text(&mut self) -> String {
        self.words.by_ref().collect::<Vec<_>>().join(" ")
    }
}
