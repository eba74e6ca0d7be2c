//! How a server answers a hello, and the transport errors that say no.

use quinn_proto::{TransportError, TransportErrorCode};

use crate::HelloError;

/// The TLS alert `no_application_protocol` (RFC 7301 section 3.2). It says the same here.
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// How a server answers.
#[derive(Debug, Clone)]
pub(crate) enum Policy {
    /// Choose the first of these that the client offers.
    Choose {
        /// In the server's order of preference.
        alpn: Vec<Vec<u8>>,
        /// Accept a client that offers none, too.
        optional: bool,
    },
    /// The answer is known already.
    Answer(Option<Vec<u8>>),
    /// Refuse, whatever the client says.
    Refuse(TransportError),
}

impl Policy {
    /// The protocol to use with a client that offers these.
    pub(crate) fn choose(&self, offered: &[Vec<u8>]) -> Result<Option<Vec<u8>>, TransportError> {
        match self {
            Self::Choose { alpn, optional } if offered.is_empty() => {
                if alpn.is_empty() || *optional {
                    Ok(None)
                } else {
                    Err(no_application_protocol())
                }
            }
            Self::Choose { alpn, .. } => {
                let common = alpn.iter().find(|protocol| offered.contains(protocol));
                common.cloned().map(Some).ok_or_else(no_application_protocol)
            }
            // One that was not offered would be refused by the client, with less to say about it.
            Self::Answer(Some(protocol)) if !offered.contains(protocol) => Err(no_application_protocol()),
            Self::Answer(protocol) => Ok(protocol.clone()),
            Self::Refuse(error) => Err(error.clone()),
        }
    }

    /// The error, for a policy that needs to know nothing before it refuses.
    pub(crate) fn refusal(&self) -> Result<(), TransportError> {
        match self {
            Self::Refuse(error) => Err(error.clone()),
            Self::Choose { .. } | Self::Answer(_) => Ok(()),
        }
    }
}

/// A transport error of a code that quinn can name: those of RFC 9000 section 20.1 up to 0x10, and 0x100 to 0x1ff for TLS
/// alerts. Any other code becomes CONNECTION_REFUSED.
pub(crate) fn transport_error(code: u64, reason: &str) -> TransportError {
    const NAMED: [TransportErrorCode; 17] = [
        TransportErrorCode::NO_ERROR,
        TransportErrorCode::INTERNAL_ERROR,
        TransportErrorCode::CONNECTION_REFUSED,
        TransportErrorCode::FLOW_CONTROL_ERROR,
        TransportErrorCode::STREAM_LIMIT_ERROR,
        TransportErrorCode::STREAM_STATE_ERROR,
        TransportErrorCode::FINAL_SIZE_ERROR,
        TransportErrorCode::FRAME_ENCODING_ERROR,
        TransportErrorCode::TRANSPORT_PARAMETER_ERROR,
        TransportErrorCode::CONNECTION_ID_LIMIT_ERROR,
        TransportErrorCode::PROTOCOL_VIOLATION,
        TransportErrorCode::INVALID_TOKEN,
        TransportErrorCode::APPLICATION_ERROR,
        TransportErrorCode::CRYPTO_BUFFER_EXCEEDED,
        TransportErrorCode::KEY_UPDATE_ERROR,
        TransportErrorCode::AEAD_LIMIT_REACHED,
        TransportErrorCode::NO_VIABLE_PATH,
    ];
    let code = match code {
        0x100..=0x1ff => TransportErrorCode::crypto((code & 0xff) as u8),
        _ => {
            NAMED.into_iter().find(|named| u64::from(*named) == code).unwrap_or(TransportErrorCode::CONNECTION_REFUSED)
        }
    };
    TransportError { code, frame: None, reason: reason.to_owned() }
}

/// A hello that is none ends the connection.
#[allow(clippy::needless_pass_by_value, reason = "it is the mapper of `map_err`")]
pub(crate) fn violation(error: HelloError) -> TransportError {
    transport_error(TransportErrorCode::PROTOCOL_VIOLATION.into(), &error.to_string())
}

/// No protocol in common.
pub(crate) fn no_application_protocol() -> TransportError {
    transport_error(0x100 | u64::from(NO_APPLICATION_PROTOCOL), "no application protocol in common")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(protocols: &[&str]) -> Vec<Vec<u8>> {
        protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect()
    }

    #[test]
    fn the_server_prefers_by_its_own_order() {
        let policy = Policy::Choose { alpn: list(&["b", "a"]), optional: false };
        assert_eq!(policy.choose(&list(&["a", "b"])).expect("in common"), Some(b"b".to_vec()));
        assert_eq!(policy.choose(&list(&["a"])).expect("in common"), Some(b"a".to_vec()));
    }

    #[test]
    fn offer_and_list_must_meet() {
        let alert = |result: Result<Option<Vec<u8>>, TransportError>| result.expect_err("refused").code;
        let no_protocol = TransportErrorCode::crypto(120);
        let strict = Policy::Choose { alpn: list(&["a"]), optional: false };
        assert_eq!(alert(strict.choose(&[])), no_protocol);
        assert_eq!(alert(strict.choose(&list(&["b"]))), no_protocol);
        let none = Policy::Choose { alpn: Vec::new(), optional: false };
        assert_eq!(none.choose(&[]).expect("none and none"), None);
        assert_eq!(alert(none.choose(&list(&["b"]))), no_protocol);
        let both = Policy::Choose { alpn: list(&["a"]), optional: true };
        assert_eq!(both.choose(&[]).expect("optional"), None);
        assert_eq!(alert(both.choose(&list(&["b"]))), no_protocol);
        assert_eq!(alert(Policy::Answer(Some(b"x".to_vec())).choose(&list(&["a"]))), no_protocol);
    }

    #[test]
    fn codes_that_quinn_can_name_are_kept() {
        for code in (0..=0x10).chain([0x100, 0x178, 0x1ff]) {
            assert_eq!(u64::from(transport_error(code, "").code), code);
        }
        for code in [0x11, 0x200, u64::MAX] {
            assert_eq!(transport_error(code, "").code, TransportErrorCode::CONNECTION_REFUSED);
        }
    }
}
