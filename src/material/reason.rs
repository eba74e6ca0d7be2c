//! Why a material was refused, and what is odd about one that was not: two closed sets, explained for operators in
//! `docs/materials.md`, which a test compares with this file.

mod cure;

use std::{
    fmt,
    path::{Path, PathBuf},
    time::SystemTime,
};

macro_rules! kebab_set {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The value as it stands in logs, status and documentation.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

kebab_set! {
    /// Why a material was refused.
    Reason {
        /// The file does not exist.
        MissingFile => "missing-file",
        /// The path leads to a directory, a socket or a device.
        NotAFile => "not-a-file",
        /// The file cannot be read.
        Unreadable => "unreadable",
        /// The file is larger than 1 MiB.
        FileTooLarge => "file-too-large",
        /// The files kept changing while they were read.
        Unstable => "unstable",
        /// Nothing but white space, comments or NUL bytes.
        Empty => "empty",
        /// UTF-16 or UTF-32 text.
        PemEncoding => "pem-encoding",
        /// Binary: DER or PKCS#12.
        NotPem => "not-pem",
        /// A BEGIN or END line, or what stands between them, is not PEM.
        PemMalformed => "pem-malformed",
        /// A block without its end, or without content.
        Truncated => "truncated",
        /// A block whose label names a variant that cannot be read.
        PemLabel => "pem-label",
        /// A block that has no business in this file.
        UnexpectedBlock => "unexpected-block",
        /// No CERTIFICATE block.
        NoCertificate => "no-certificate",
        /// No private key block.
        NoPrivateKey => "no-private-key",
        /// No X509 CRL block.
        NoCrl => "no-crl",
        /// More certificates than any use of the file needs.
        TooManyCertificates => "too-many-certificates",
        /// A block whose content is not what its label says.
        BadDer => "bad-der",
        /// Not an X.509 version 3 certificate.
        UnsupportedVersion => "unsupported-version",
        /// A critical extension that no peer would know.
        UnsupportedExtension => "unsupported-extension",
        /// The private key is encrypted.
        KeyEncrypted => "key-encrypted",
        /// More than one private key.
        KeyAmbiguous => "key-ambiguous",
        /// A kind of key that cannot be used.
        UnsupportedKey => "unsupported-key",
        /// An RSA key of less than 2,048 bits.
        WeakKey => "weak-key",
        /// The private key does not belong to the first certificate.
        KeyMismatch => "key-mismatch",
        /// Signed with MD5 or SHA-1.
        WeakSignature => "weak-signature",
        /// Signed with an algorithm that cannot be verified.
        UnsupportedSignature => "unsupported-signature",
        /// A certificate of the chain is not signed by the next.
        ChainBroken => "chain-broken",
        /// A certificate behind the leaf has ended.
        ChainExpired => "chain-expired",
        /// It has ended.
        Expired => "expired",
        /// It has not begun.
        NotYetValid => "not-yet-valid",
        /// It ends before it begins.
        BadValidity => "bad-validity",
        /// The leaf bears no name that peers look at.
        NoSan => "no-san",
        /// Key usage forbids the use.
        KeyUsage => "key-usage",
        /// Extended key usage forbids the use.
        ExtKeyUsage => "ext-key-usage",
        /// The certificate of an identity is a CA.
        CaAsLeaf => "ca-as-leaf",
        /// `expect.names` is not satisfied.
        NameNotCovered => "name-not-covered",
        /// `expect.chains_to` is not satisfied.
        WrongIssuer => "wrong-issuer",
        /// The bundle that this material is judged by is not there.
        TrustUnavailable => "trust-unavailable",
        /// A certificate of a trust bundle is no CA.
        NotACa => "not-a-ca",
        /// More anchors of one subject than a path search may try.
        PathBudget => "path-budget",
        /// A revocation list whose issuer is not in the bundle.
        CrlUnrelated => "crl-unrelated",
        /// A revocation list that its issuer did not sign.
        CrlBadSignature => "crl-bad-signature",
        /// A revocation list that is older than the one in use.
        CrlRollback => "crl-rollback",
        /// An anchor whose revocation list is in use has none any more.
        CrlWithdrawn => "crl-withdrawn",
        /// A revocation list from the future.
        CrlNotYet => "crl-not-yet",
        /// A delta, indirect or partitioned revocation list.
        CrlUnsupported => "crl-unsupported",
        /// More revocation lists, or serials in them, than are kept.
        CrlTooLarge => "crl-too-large",
        /// The TLS library refuses it, although every check let it through.
        Unusable => "unusable",
    }
}

kebab_set! {
    /// What is odd about a material that was accepted.
    Warning {
        /// A leaf alone that is not its own issuer.
        IncompleteChain => "incomplete-chain",
        /// The certificates behind the leaf were not in order; they are served in order.
        ChainReordered => "chain-reordered",
        /// A root that certifies nothing in the chain, or a certificate twice.
        ChainExtra => "chain-extra",
        /// A DNS name that no peer would match.
        OddName => "odd-name",
        /// A serial number that is zero, negative or longer than 20 octets (RFC 5280 section 4.1.2.2).
        OddSerial => "odd-serial",
        /// A version 1 root.
        VersionOneRoot => "version-1-root",
        /// An anchor that has ended and was left out.
        ExpiredAnchor => "expired-anchor",
        /// An anchor that does not count yet.
        FutureAnchor => "future-anchor",
        /// A revocation list past its next update. Its serials still count.
        CrlExpired => "crl-expired",
        /// An anchor for which there is no revocation list.
        CrlIncomplete => "crl-incomplete",
        /// A revocation list of nobody in the bundle, left out beside others.
        CrlLeftOut => "crl-left-out",
        /// Files that no directory link leads to, as a subPath mount makes them: those never change.
        PlainFiles => "plain-files",
    }
}

impl Reason {
    /// Whether the same files may be judged otherwise at another time, with nothing else changed.
    pub(crate) fn depends_on_time(self) -> bool {
        use Reason::{ChainExpired, CrlNotYet, Expired, NotYetValid, WrongIssuer};
        matches!(self, Expired | ChainExpired | NotYetValid | CrlNotYet | WrongIssuer)
    }
}

/// A refusal in the making: the pure checks know the class and the words, the loader adds the material.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its class.
    pub reason: Reason,
    /// For the person at 3 a.m.: which block, which certificate, what to look for. Never any content of a key.
    pub detail: String,
    /// The file at fault, where there are several.
    pub file: Option<PathBuf>,
    /// When what is only early begins. Set with [`Reason::NotYetValid`].
    pub starts: Option<SystemTime>,
}

impl Fault {
    /// A fault.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), file: None, starts: None }
    }

    /// The same fault, blamed on a file.
    #[must_use]
    pub fn of_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_owned());
        self
    }

    /// The same fault, over by itself at a time.
    #[must_use]
    pub fn until(mut self, starts: SystemTime) -> Self {
        self.starts = Some(starts);
        self
    }

    /// The refusal of a material. `fallback` is its first file.
    pub fn reject(self, material: &str, fallback: &Path) -> Rejection {
        Rejection {
            material: material.to_owned(),
            file: self.file.unwrap_or_else(|| fallback.to_owned()),
            class: self.reason,
            detail: self.detail,
            starts: self.starts,
        }
    }
}

/// A material that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The material's name.
    pub material: String,
    /// The file at fault.
    pub file: PathBuf,
    /// The class of the refusal.
    pub class: Reason,
    /// What exactly, in words.
    pub detail: String,
    /// When what is only early begins.
    pub starts: Option<SystemTime>,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({}: {})", self.material, self.class, self.file.display(), self.detail)
    }
}

impl std::error::Error for Rejection {}
