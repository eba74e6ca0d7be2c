//! Writing hellos.

use std::net::{IpAddr, SocketAddr};

use super::field::{self, HEADER_LEN, MAGIC, is_text, peer, put};
use super::{ClientHello, EncodeError, PeerCertificate, PeerInfo};

/// Bytes of a client hello at most, so that it fits one datagram of [`DATAGRAM_SIZE`](crate::DATAGRAM_SIZE) with its
/// packet and frame headers: Iris reads it there, before it accepts.
pub(crate) const MAX_CLIENT_HELLO: usize = 6 * 1024;

/// Bytes for the names of a certificate. The other fields at their longest and the transport parameters fit beside it.
const NAMES_BUDGET: usize = 3 * 1024;

/// The fields of a client hello but for the transport parameters, which are known only when the connection starts.
pub(crate) fn client_fields(hello: &ClientHello, format: u8) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    if let Some(name) = &hello.server_name {
        put(&mut out, field::SERVER_NAME, text("server name", name, field::MAX_NAME)?);
    }
    if !hello.alpn.is_empty() {
        put(&mut out, field::ALPN, &protocol_list(&hello.alpn)?);
    }
    if let Some(destination) = &hello.destination {
        put(&mut out, field::DESTINATION, text("destination", destination, field::MAX_DESTINATION)?);
    }
    if let Some(info) = &hello.peer
        && format >= 2
    {
        put(&mut out, field::PEER, &peer_fields(info)?);
    }
    Ok(out)
}

/// A whole client hello. `fields` is from [`client_fields`].
pub(crate) fn client(format: u8, parameters: &[u8], fields: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let out = message(format, parameters, fields);
    if out.len() > MAX_CLIENT_HELLO { Err(EncodeError::TooLong) } else { Ok(out) }
}

/// A whole server hello. The protocol is one that the client offered, so it is 1 to 255 bytes long.
pub(crate) fn server(format: u8, parameters: &[u8], alpn: Option<&[u8]>) -> Vec<u8> {
    let mut fields = Vec::new();
    if let Some(protocol) = alpn {
        let mut list = Vec::new();
        put_short(&mut list, protocol);
        put(&mut fields, field::ALPN, &list);
    }
    message(format, parameters, &fields)
}

/// Header, transport parameters, the other fields. Readers of every format so far understand what we write: what a newer
/// format adds may be ignored, so the lowest format is 1.
fn message(format: u8, parameters: &[u8], fields: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_LEN + 4 + parameters.len() + fields.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[format, 1, 0, 0]);
    put(&mut out, field::TRANSPORT_PARAMETERS, parameters);
    out.extend_from_slice(fields);
    let length = u16::try_from(out.len() - HEADER_LEN).expect("fields are bounded far below 64 KiB");
    out[HEADER_LEN - 2..HEADER_LEN].copy_from_slice(&length.to_be_bytes());
    out
}

fn text<'a>(what: &'static str, text: &'a str, max: usize) -> Result<&'a [u8], EncodeError> {
    if is_text(text, max) { Ok(text.as_bytes()) } else { Err(EncodeError::Text { what, max }) }
}

/// A list of protocol names as in RFC 7301 section 3.1, without the length of the whole.
fn protocol_list(protocols: &[Vec<u8>]) -> Result<Vec<u8>, EncodeError> {
    let mut list = Vec::new();
    for protocol in protocols {
        if protocol.is_empty() || protocol.len() > field::MAX_PROTOCOL {
            return Err(EncodeError::Alpn);
        }
        put_short(&mut list, protocol);
    }
    if protocols.len() > field::MAX_PROTOCOLS || list.len() > field::MAX_PROTOCOL_LIST {
        return Err(EncodeError::Alpn);
    }
    Ok(list)
}

/// A length byte and that many bytes. Whoever calls has checked the length.
fn put_short(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(u8::try_from(bytes.len()).expect("checked to be 255 at most"));
    out.extend_from_slice(bytes);
}

fn peer_fields(info: &PeerInfo) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    if let Some(address) = info.address {
        put(&mut out, peer::ADDRESS, &socket_address(address));
    }
    if let Some(name) = &info.server_name {
        put(&mut out, peer::SERVER_NAME, text("the peer's server name", name, field::MAX_NAME)?);
    }
    if let Some(protocol) = &info.alpn {
        if protocol.is_empty() || protocol.len() > field::MAX_PROTOCOL {
            return Err(EncodeError::Alpn);
        }
        put(&mut out, peer::ALPN, protocol);
    }
    if let Some(version) = info.tls_version {
        put(&mut out, peer::TLS_VERSION, &version.to_be_bytes());
    }
    if let Some(certificate) = &info.certificate {
        certificate_fields(&mut out, certificate);
    }
    if let Some(size) = info.datagram_size {
        put(&mut out, peer::DATAGRAM_SIZE, &size.to_be_bytes());
    }
    Ok(out)
}

/// Port, then 4 or 16 bytes of address.
fn socket_address(address: SocketAddr) -> Vec<u8> {
    let mut out = address.port().to_be_bytes().to_vec();
    match address.ip() {
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
    }
    out
}

/// A certificate whose names do not all fit is still announced, with a mark that names are missing.
fn certificate_fields(out: &mut Vec<u8>, certificate: &PeerCertificate) {
    let mut budget = NAMES_BUDGET;
    let (dns_names, all_dns) = name_list(&certificate.dns_names, &mut budget);
    let (uris, all_uris) = name_list(&certificate.uris, &mut budget);
    put(out, peer::CERTIFICATE_SHA256, &certificate.sha256);
    if !dns_names.is_empty() {
        put(out, peer::DNS_NAMES, &dns_names);
    }
    if !uris.is_empty() {
        put(out, peer::URIS, &uris);
    }
    if certificate.names_truncated || !all_dns || !all_uris {
        put(out, peer::NAMES_TRUNCATED, &[]);
    }
}

/// The names that fit, each with two bytes of length, and whether that is all of them.
fn name_list(names: &[String], budget: &mut usize) -> (Vec<u8>, bool) {
    let mut list = Vec::new();
    let mut all = names.len() <= field::MAX_CERTIFICATE_NAMES;
    for name in names.iter().take(field::MAX_CERTIFICATE_NAMES) {
        let cost = name.len() + 2;
        if !is_text(name, field::MAX_CERTIFICATE_NAME) || cost > *budget {
            all = false;
            continue;
        }
        *budget -= cost;
        let length = u16::try_from(name.len()).expect("checked to be 2,048 at most");
        list.extend_from_slice(&length.to_be_bytes());
        list.extend_from_slice(name.as_bytes());
    }
    (list, all)
}
