//! What stands between BEGIN and END.

use std::fmt;

/// What a block says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// `CERTIFICATE`, and `X509 CERTIFICATE`, which RFC 7468 section 5.1 lets parsers take for the same.
    Certificate,
    /// `TRUSTED CERTIFICATE`: OpenSSL's own, with more behind the certificate.
    TrustedCertificate,
    /// `PRIVATE KEY`: PKCS#8 (RFC 5958).
    Pkcs8,
    /// `RSA PRIVATE KEY`: PKCS#1 (RFC 8017).
    Pkcs1,
    /// `EC PRIVATE KEY`: SEC1 (RFC 5915).
    Sec1,
    /// `ENCRYPTED PRIVATE KEY`
    EncryptedKey,
    /// `X509 CRL`
    Crl,
    /// `EC PARAMETERS` or `DH PARAMETERS`, which tools leave beside keys.
    Parameters,
    /// Anything else, at most 64 bytes of it.
    Other(String),
}

impl Label {
    pub(super) fn parse(text: &str) -> Self {
        match text {
            "CERTIFICATE" | "X509 CERTIFICATE" => Self::Certificate,
            "TRUSTED CERTIFICATE" => Self::TrustedCertificate,
            "PRIVATE KEY" => Self::Pkcs8,
            "RSA PRIVATE KEY" => Self::Pkcs1,
            "EC PRIVATE KEY" => Self::Sec1,
            "ENCRYPTED PRIVATE KEY" => Self::EncryptedKey,
            "X509 CRL" => Self::Crl,
            "EC PARAMETERS" | "DH PARAMETERS" => Self::Parameters,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Whether the block holds a private key, readable or not.
    pub fn is_private_key(&self) -> bool {
        match self {
            Self::Pkcs8 | Self::Pkcs1 | Self::Sec1 | Self::EncryptedKey => true,
            Self::Other(label) => label.ends_with("PRIVATE KEY"),
            _ => false,
        }
    }

    /// The label in words.
    pub fn name(&self) -> &str {
        match self {
            Self::Certificate => "CERTIFICATE",
            Self::TrustedCertificate => "TRUSTED CERTIFICATE",
            Self::Pkcs8 => "PRIVATE KEY",
            Self::Pkcs1 => "RSA PRIVATE KEY",
            Self::Sec1 => "EC PRIVATE KEY",
            Self::EncryptedKey => "ENCRYPTED PRIVATE KEY",
            Self::Crl => "X509 CRL",
            Self::Parameters => "PARAMETERS",
            Self::Other(label) => label,
        }
    }
}

/// One block. Its content may be a key, so `Debug` leaves it out.
#[derive(Clone, PartialEq, Eq)]
pub struct Block {
    /// What it says it is.
    pub label: Label,
    /// The line of its BEGIN, counted from 1.
    pub line: usize,
    /// What stood between BEGIN and END, decoded. Empty when `encrypted`.
    pub content: Vec<u8>,
    /// It bears an RFC 1421 `Proc-Type: 4,ENCRYPTED` header.
    pub encrypted: bool,
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("label", &self.label).field("line", &self.line).finish_non_exhaustive()
    }
}
