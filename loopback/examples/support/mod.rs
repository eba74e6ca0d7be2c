//! What the component and the caller have in common: one line of JSON an event, and streams that do what their first line
//! says. The language is described at the head of `component.rs`.

#![allow(clippy::print_stdout, reason = "events are this program's output")]
#![allow(clippy::disallowed_methods, reason = "a program of its own: tasks end with it")]

pub(crate) mod command;
pub(crate) mod serve;

use std::time::Duration;

use iris_loopback::transport_config;
use quinn::{IdleTimeout, TransportConfig, VarInt};
use serde_json::{Value, json};

/// Writes one event. A reader who went away ends the program, as it would any filter.
pub(crate) fn event(name: &str, mut fields: Value) {
    fields["event"] = json!(name);
    println!("{fields}");
}

/// Bytes that whoever receives them can check: each is its position, modulo 251.
pub(crate) fn pattern(from: usize, count: usize) -> Vec<u8> {
    (from..from + count).map(|position| (position % 251) as u8).collect()
}

/// Bytes as text, where they are some.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Why a connection ended, or could not begin.
pub(crate) fn reason(error: &quinn::ConnectionError) -> Value {
    use quinn::ConnectionError as E;
    match error {
        E::ApplicationClosed(close) => {
            json!({"by": "application", "code": u64::from(close.error_code), "reason": text(&close.reason)})
        }
        E::ConnectionClosed(close) => {
            json!({"by": "transport", "code": u64::from(close.error_code), "reason": text(&close.reason)})
        }
        E::LocallyClosed => json!({"by": "us"}),
        other => json!({"by": "transport", "reason": other.to_string()}),
    }
}

/// A protocol list from `h3,x`.
pub(crate) fn protocols(list: &str) -> Vec<Vec<u8>> {
    list.split(',').filter(|name| !name.is_empty()).map(|name| name.as_bytes().to_vec()).collect()
}

/// The value behind an option, as what it should be.
pub(crate) fn value<T: std::str::FromStr>(option: &str, given: Option<String>) -> Result<T, String> {
    let given = given.ok_or_else(|| format!("{option} needs a value"))?;
    given.parse().map_err(|_| format!("{option}: {given:?} will not do"))
}

/// The options that component and caller share.
pub(crate) struct Shared {
    pub(crate) transport: TransportConfig,
    pub(crate) echo_datagrams: bool,
}

impl Shared {
    /// `datagrams` is the default of that option.
    pub(crate) fn new(datagrams: &str) -> Self {
        Self { transport: transport_config(), echo_datagrams: datagrams == "echo" }
    }

    pub(crate) fn option(&mut self, option: &str, args: &mut impl Iterator<Item = String>) -> Result<(), String> {
        match option {
            "--bidi-limit" => {
                self.transport.max_concurrent_bidi_streams(VarInt::from_u32(value(option, args.next())?));
            }
            "--uni-limit" => {
                self.transport.max_concurrent_uni_streams(VarInt::from_u32(value(option, args.next())?));
            }
            "--idle-seconds" => {
                let idle = Duration::from_secs(value::<u32>(option, args.next())?.into());
                let timeout = IdleTimeout::try_from(idle).map_err(|error| error.to_string())?;
                self.transport.max_idle_timeout(Some(timeout)).keep_alive_interval(Some(idle / 3));
            }
            "--datagrams" => match value::<String>(option, args.next())?.as_str() {
                "echo" => self.echo_datagrams = true,
                "keep" => self.echo_datagrams = false,
                "off" => {
                    self.transport.datagram_receive_buffer_size(None);
                }
                other => return Err(format!("--datagrams: {other:?} is none of echo, keep, off")),
            },
            other => return Err(format!("unknown option {other:?}")),
        }
        Ok(())
    }
}
