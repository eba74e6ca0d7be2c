//! The PROXY protocol header, version 2: what a component is told about a connection before its first byte
//! (HAProxy's `proxy-protocol.txt`, section 2.2).

use std::{
    borrow::Cow,
    net::{IpAddr, Ipv6Addr, SocketAddr},
};

use proxy_header::{ProxiedAddress, SslInfo, Tlv};

/// The longest application protocol and server name, in octets (RFC 7301 section 3.1, RFC 1035 section 2.3.4).
const SHORT: usize = 255;
/// The longest name of a certificate, in octets.
const NAME: usize = 1024;

/// What a component is told. What is longer than its bound is left out, never cut: half a name is another name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProxyHeader {
    /// Where the connection came from. Without both addresses the header says LOCAL, of no address family: so for one
    /// that came over a Unix socket. Receivers then take the addresses of the connection itself, and some skip the rest.
    pub source: Option<SocketAddr>,
    /// Where it arrived.
    pub destination: Option<SocketAddr>,
    /// The application protocol that was agreed on, at most 255 octets (`PP2_TYPE_ALPN`).
    pub alpn: Option<Vec<u8>>,
    /// The server name that was asked for, at most 255 octets (`PP2_TYPE_AUTHORITY`).
    pub authority: Option<String>,
    /// What TLS tells of it (`PP2_TYPE_SSL`). `None` for a plaintext connection.
    pub tls: Option<TlsFacts>,
}

/// What TLS tells of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFacts {
    /// The version, as [`tls_version`](super::names::tls_version) names it.
    pub version: &'static str,
    /// The cipher suite, as [`cipher_suite`](super::names::cipher_suite) names it.
    pub cipher: String,
    /// The certificate that the client showed.
    pub client_certificate: Option<ClientCertificate>,
}

/// The certificate that a client showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// Its common name, or the name that it goes by instead: the first DNS name or URI. At most 1,024 octets.
    pub name: Option<String>,
    /// Whether it was verified.
    pub verified: bool,
}

impl ProxyHeader {
    /// The header as it goes in front of the first byte: at most 2 KiB.
    pub fn encode(&self) -> Vec<u8> {
        let mut header = proxy_header::ProxyHeader::with_tlvs(self.addresses(), []);
        if let Some(alpn) = self.alpn.as_deref().filter(|alpn| (1..=SHORT).contains(&alpn.len())) {
            header.append_tlv(Tlv::Alpn(alpn.into()));
        }
        if let Some(authority) = within(self.authority.as_ref(), SHORT) {
            header.append_tlv(Tlv::Authority(authority));
        }
        if let Some(tls) = &self.tls {
            header.append_tlv(Tlv::Ssl(tls.info()));
        }
        let mut bytes = Vec::new();
        header.encode_v2(&mut bytes).expect("every field is bounded, and both addresses are of one family");
        bytes
    }

    /// Both addresses in one family. Those of IPv4 peers on a socket for both families are what they are, IPv4.
    fn addresses(&self) -> Option<ProxiedAddress> {
        let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let (source, destination) = (plain(self.source?), plain(self.destination?));
        Some(if source.is_ipv4() == destination.is_ipv4() {
            ProxiedAddress::stream(source, destination)
        } else {
            ProxiedAddress::stream(mapped(source), mapped(destination))
        })
    }
}

impl TlsFacts {
    fn info(&self) -> SslInfo<'static> {
        let certificate = self.client_certificate.as_ref();
        let verified = certificate.is_some_and(|certificate| certificate.verified);
        // One that was shown on this connection was shown in this session too: none is ever resumed.
        let mut info = SslInfo::new(true, certificate.is_some(), certificate.is_some(), u32::from(!verified));
        info.append_tlv(Tlv::SslVersion(self.version.into()));
        if let Some(cipher) = within(Some(&self.cipher), SHORT) {
            info.append_tlv(Tlv::SslCipher(cipher));
        }
        if let Some(name) = certificate.and_then(|certificate| within(certificate.name.as_ref(), NAME)) {
            info.append_tlv(Tlv::SslCn(name));
        }
        info
    }
}

fn within(text: Option<&String>, bound: usize) -> Option<Cow<'_, str>> {
    text.filter(|text| (1..=bound).contains(&text.len())).map(|text| text.as_str().into())
}

fn mapped(address: SocketAddr) -> SocketAddr {
    let ip: Ipv6Addr = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    SocketAddr::new(ip.into(), address.port())
}

#[cfg(test)]
mod tests {
    use proxy_header::ParseConfig;

    use super::*;

    const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

    fn addressed(source: &str, destination: &str) -> ProxyHeader {
        ProxyHeader {
            source: Some(source.parse().unwrap()),
            destination: Some(destination.parse().unwrap()),
            ..ProxyHeader::default()
        }
    }

    /// Section 2.2, octet by octet.
    #[test]
    fn the_octets_are_those_of_the_specification() {
        let header = ProxyHeader {
            alpn: Some(b"h2".to_vec()),
            authority: Some("edge.example".into()),
            tls: Some(TlsFacts {
                version: "TLSv1.3",
                cipher: "TLS_AES_128_GCM_SHA256".into(),
                client_certificate: Some(ClientCertificate { name: Some("w-1".into()), verified: true }),
            }),
            ..addressed("192.0.2.1:4660", "198.51.100.2:443")
        };
        let expected = [
            SIGNATURE,
            b"\x21\x11",                         // version 2, PROXY; TCP over IPv4
            b"\0\x51",                           // 81 octets follow: 12 + 5 + 15 + 49
            b"\xc0\0\x02\x01\xc6\x33\x64\x02",   // source, destination
            b"\x12\x34\x01\xbb",                 // their ports
            b"\x01\0\x02h2",                     // PP2_TYPE_ALPN
            b"\x02\0\x0cedge.example",           // PP2_TYPE_AUTHORITY
            b"\x20\0\x2e",                       // PP2_TYPE_SSL, 46 octets: 5 + 10 + 25 + 6
            b"\x07\0\0\0\0",                     // SSL, CERT_CONN, CERT_SESS; verified
            b"\x21\0\x07TLSv1.3",                // PP2_SUBTYPE_SSL_VERSION
            b"\x23\0\x16TLS_AES_128_GCM_SHA256", // PP2_SUBTYPE_SSL_CIPHER
            b"\x22\0\x03w-1",                    // PP2_SUBTYPE_SSL_CN
        ]
        .concat();
        assert_eq!(header.encode(), expected);
        let (read, length) = proxy_header::ProxyHeader::parse(&expected, ParseConfig::default()).unwrap();
        assert_eq!(length, expected.len());
        let tls = read.ssl().unwrap();
        assert_eq!((read.alpn(), read.authority()), (Some(&b"h2"[..]), Some("edge.example")));
        assert_eq!((tls.cn(), tls.version(), tls.verify()), (Some("w-1"), Some("TLSv1.3"), 0));
    }

    #[test]
    fn ipv6_and_no_tls() {
        let expected = [
            SIGNATURE,
            b"\x21\x21\0\x24",
            b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01",
            b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02",
            b"\0\x01\0\x02",
        ]
        .concat();
        assert_eq!(addressed("[2001:db8::1]:1", "[2001:db8::2]:2").encode(), expected);
    }

    #[test]
    fn ipv4_on_a_socket_for_both_families_is_ipv4() {
        let header = addressed("[::ffff:192.0.2.1]:1", "[::ffff:192.0.2.2]:2");
        assert_eq!(header.encode(), addressed("192.0.2.1:1", "192.0.2.2:2").encode());
        let mixed = addressed("192.0.2.1:1", "[2001:db8::2]:2").encode();
        assert_eq!(mixed[12..14], *b"\x21\x21");
        assert_eq!(mixed[16..32], *b"\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\x02\x01");
    }

    #[test]
    fn without_addresses_it_is_local() {
        assert_eq!(ProxyHeader::default().encode(), [SIGNATURE, b"\x20\0\0\0"].concat());
        let half = ProxyHeader { destination: None, ..addressed("192.0.2.1:1", "192.0.2.2:2") };
        assert_eq!(half.encode(), [SIGNATURE, b"\x20\0\0\0"].concat());
    }

    #[test]
    fn flags_say_whether_there_was_a_certificate_and_whether_it_was_good() {
        let flags = |client_certificate| {
            let tls = TlsFacts { version: "TLSv1.2", cipher: String::new(), client_certificate };
            let header = ProxyHeader { tls: Some(tls), ..ProxyHeader::default() };
            header.encode()[19..24].to_vec()
        };
        let shown = |verified| Some(ClientCertificate { name: None, verified });
        assert_eq!(flags(None), b"\x01\0\0\0\x01");
        assert_eq!(flags(shown(false)), b"\x07\0\0\0\x01");
        assert_eq!(flags(shown(true)), b"\x07\0\0\0\0");
    }

    #[test]
    fn what_is_too_long_is_left_out_and_never_cut() {
        let long = |bound: usize| "n".repeat(bound + 1);
        let header = ProxyHeader {
            alpn: Some(long(SHORT).into_bytes()),
            authority: Some(long(SHORT)),
            tls: Some(TlsFacts {
                version: "TLSv1.3",
                cipher: long(SHORT),
                client_certificate: Some(ClientCertificate { name: Some(long(NAME)), verified: true }),
            }),
            ..addressed("192.0.2.1:1", "192.0.2.2:2")
        };
        assert_eq!(header.encode().len(), 16 + 12 + 3 + 5 + 10);
        let most = ProxyHeader {
            alpn: Some("n".repeat(SHORT).into_bytes()),
            authority: Some("n".repeat(SHORT)),
            tls: Some(TlsFacts {
                version: "TLSv1.3",
                cipher: "n".repeat(SHORT),
                client_certificate: Some(ClientCertificate { name: Some("n".repeat(NAME)), verified: true }),
            }),
            ..addressed("[2001:db8::1]:1", "[2001:db8::2]:2")
        };
        assert!(most.encode().len() <= 2048, "{}", most.encode().len());
    }
}
