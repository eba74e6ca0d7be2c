//! Reading hellos. Any bytes give a hello or a [`HelloError`]; nothing here allocates more than a small multiple of them.

use std::net::{IpAddr, SocketAddr};

use super::field::{self, CRITICAL, HEADER_LEN, MAGIC, Reader, Seen, is_text, peer};
use super::{ClientHello, HelloError, MAX_HELLO, PeerCertificate, PeerInfo};

/// What a hello's first eight bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The newest format that the sender speaks, or, from a server, the one that it answers in.
    pub(crate) format: u8,
    /// Bytes of the whole hello, header included.
    pub(crate) total: usize,
}

/// Reads the header. `Ok(None)`: more bytes are needed, and nothing is wrong with those that are there.
///
/// `speaks` is the newest format of the reader.
pub(crate) fn header(bytes: &[u8], speaks: u8) -> Result<Option<Header>, HelloError> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(HelloError::Magic);
    }
    let Some(&[_, _, _, _, format, lowest, high, low]) = bytes.get(..HEADER_LEN) else { return Ok(None) };
    if lowest > speaks {
        return Err(HelloError::Format { lowest });
    }
    let total = HEADER_LEN + usize::from(u16::from_be_bytes([high, low]));
    if total > MAX_HELLO { Err(HelloError::TooLong) } else { Ok(Some(Header { format, total })) }
}

/// A client hello, and the client's transport parameters as they came. `fields` is what follows the header.
pub(crate) fn client(fields: &[u8], speaks: u8) -> Result<(ClientHello, Vec<u8>), HelloError> {
    let (mut hello, mut parameters) = (ClientHello::default(), None);
    let (mut reader, mut seen) = (Reader(fields), Seen::default());
    while let Some((field, value)) = reader.field()? {
        match field {
            field::TRANSPORT_PARAMETERS => parameters = Some(value.to_vec()),
            field::SERVER_NAME => hello.server_name = Some(text(field, value, field::MAX_NAME)?),
            field::ALPN => hello.alpn = protocol_list(value)?,
            field::DESTINATION => hello.destination = Some(text(field, value, field::MAX_DESTINATION)?),
            field::PEER if speaks >= 2 => hello.peer = Some(peer_info(value)?),
            unknown => {
                ignore(unknown)?;
                continue;
            }
        }
        seen.once(field)?;
    }
    let parameters = parameters.ok_or(HelloError::Missing(field::TRANSPORT_PARAMETERS))?;
    Ok((hello, parameters))
}

/// The protocol that a server chose, and the server's transport parameters as they came.
pub(crate) fn server(fields: &[u8]) -> Result<(Option<Vec<u8>>, Vec<u8>), HelloError> {
    let (mut alpn, mut parameters) = (None, None);
    let (mut reader, mut seen) = (Reader(fields), Seen::default());
    while let Some((field, value)) = reader.field()? {
        match field {
            field::TRANSPORT_PARAMETERS => parameters = Some(value.to_vec()),
            field::ALPN => match <[Vec<u8>; 1]>::try_from(protocol_list(value)?) {
                Ok([protocol]) => alpn = Some(protocol),
                Err(_) => return Err(HelloError::Invalid(field)),
            },
            field::SERVER_NAME | field::DESTINATION | field::PEER => return Err(HelloError::Misplaced(field)),
            unknown => {
                ignore(unknown)?;
                continue;
            }
        }
        seen.once(field)?;
    }
    let parameters = parameters.ok_or(HelloError::Missing(field::TRANSPORT_PARAMETERS))?;
    Ok((alpn, parameters))
}

/// What to do with a field that is not known.
fn ignore(field: u16) -> Result<(), HelloError> {
    if field & CRITICAL == 0 { Ok(()) } else { Err(HelloError::UnknownCritical(field)) }
}

fn text(field: u16, value: &[u8], max: usize) -> Result<String, HelloError> {
    match std::str::from_utf8(value) {
        Ok(text) if is_text(text, max) => Ok(text.to_owned()),
        _ => Err(HelloError::Invalid(field)),
    }
}

/// At least one protocol, each behind a length byte that is not zero.
fn protocol_list(value: &[u8]) -> Result<Vec<Vec<u8>>, HelloError> {
    const INVALID: HelloError = HelloError::Invalid(field::ALPN);
    if value.is_empty() || value.len() > field::MAX_PROTOCOL_LIST {
        return Err(INVALID);
    }
    let (mut reader, mut protocols) = (Reader(value), Vec::new());
    while !reader.0.is_empty() {
        let length = reader.u8().ok_or(INVALID)?;
        let protocol = reader.take(usize::from(length)).ok_or(INVALID)?;
        if protocol.is_empty() || protocols.len() == field::MAX_PROTOCOLS {
            return Err(INVALID);
        }
        protocols.push(protocol.to_vec());
    }
    Ok(protocols)
}

fn peer_info(value: &[u8]) -> Result<PeerInfo, HelloError> {
    let (mut info, mut names) = (PeerInfo::default(), PeerCertificate::default());
    let (mut reader, mut seen) = (Reader(value), Seen::default());
    let (mut has_certificate, mut has_names) = (false, false);
    while let Some((field, value)) = reader.field()? {
        match field {
            peer::ADDRESS => info.address = Some(socket_address(value)?),
            peer::SERVER_NAME => info.server_name = Some(text(field, value, field::MAX_NAME)?),
            peer::ALPN if (1..=field::MAX_PROTOCOL).contains(&value.len()) => info.alpn = Some(value.to_vec()),
            peer::TLS_VERSION => info.tls_version = Some(u16::from_be_bytes(fixed(field, value)?)),
            peer::CERTIFICATE_SHA256 => (names.sha256, has_certificate) = (fixed(field, value)?, true),
            peer::DNS_NAMES => (names.dns_names, has_names) = (name_list(field, value)?, true),
            peer::URIS => (names.uris, has_names) = (name_list(field, value)?, true),
            peer::NAMES_TRUNCATED if value.is_empty() => (names.names_truncated, has_names) = (true, true),
            peer::DATAGRAM_SIZE => info.datagram_size = Some(u32::from_be_bytes(fixed(field, value)?)),
            peer::ALPN | peer::NAMES_TRUNCATED => return Err(HelloError::Invalid(field)),
            unknown => {
                ignore(unknown)?;
                continue;
            }
        }
        seen.once(field)?;
    }
    if has_names && !has_certificate {
        return Err(HelloError::Missing(peer::CERTIFICATE_SHA256));
    }
    info.certificate = has_certificate.then_some(names);
    Ok(info)
}

fn fixed<const N: usize>(field: u16, value: &[u8]) -> Result<[u8; N], HelloError> {
    value.try_into().map_err(|_| HelloError::Invalid(field))
}

fn socket_address(value: &[u8]) -> Result<SocketAddr, HelloError> {
    const INVALID: HelloError = HelloError::Invalid(peer::ADDRESS);
    let mut reader = Reader(value);
    let port = reader.u16().ok_or(INVALID)?;
    let ip = match reader.0.len() {
        4 => IpAddr::from(fixed::<4>(peer::ADDRESS, reader.0)?),
        16 => IpAddr::from(fixed::<16>(peer::ADDRESS, reader.0)?),
        _ => return Err(INVALID),
    };
    Ok(SocketAddr::new(ip, port))
}

/// At least one name, each behind two bytes of length.
fn name_list(field: u16, value: &[u8]) -> Result<Vec<String>, HelloError> {
    let (mut reader, mut names) = (Reader(value), Vec::new());
    while !reader.0.is_empty() {
        let length = reader.u16().ok_or(HelloError::Invalid(field))?;
        let name = reader.take(usize::from(length)).ok_or(HelloError::Invalid(field))?;
        if names.len() == field::MAX_CERTIFICATE_NAMES {
            return Err(HelloError::Invalid(field));
        }
        names.push(text(field, name, field::MAX_CERTIFICATE_NAME)?);
    }
    if names.is_empty() { Err(HelloError::Invalid(field)) } else { Ok(names) }
}
