//! What TLS parameters are called outside: by HAProxy, OpenSSL and whoever reads their logs.

use rustls::{CipherSuite, ProtocolVersion};

/// The name of a TLS version, as OpenSSL and the PROXY protocol have it: `TLSv1.3`.
pub fn tls_version(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_3 => "TLSv1.3",
        ProtocolVersion::TLSv1_2 => "TLSv1.2",
        // Nothing else is ever negotiated.
        _ => "unknown",
    }
}

/// The name of a cipher suite in the registry of IANA: `TLS_AES_128_GCM_SHA256`.
pub fn cipher_suite(suite: CipherSuite) -> String {
    match suite.as_str() {
        Some(name) => name.replacen("TLS13_", "TLS_", 1),
        None => format!("0x{:04x}", u16::from(suite)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_registry() {
        assert_eq!(tls_version(ProtocolVersion::TLSv1_2), "TLSv1.2");
        assert_eq!(cipher_suite(CipherSuite::TLS13_AES_128_GCM_SHA256), "TLS_AES_128_GCM_SHA256");
        let old = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
        assert_eq!(cipher_suite(old), "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
        assert_eq!(cipher_suite(CipherSuite::Unknown(0xfefe)), "0xfefe");
    }
}
