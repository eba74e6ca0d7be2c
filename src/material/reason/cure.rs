//! What to do about each refusal, as `docs/materials.md` has it, which a test compares.

use super::Reason;

impl Reason {
    /// What to do about it.
    pub fn cure(self) -> &'static str {
        match self {
            Self::MissingFile => "Create it, or correct the path; it is picked up when it appears.",
            Self::NotAFile => "Point to the file; correct the mount.",
            Self::Unreadable => "Let the user that Iris runs as read it (`fsGroup`, mode).",
            Self::FileTooLarge => "Remove what does not belong in the file.",
            Self::Unstable => "Let the writer write aside and rename.",
            Self::Empty => "Write the content. To distrust everybody, remove the listener or publish another CA.",
            Self::PemEncoding => "Save it as ASCII or UTF-8.",
            Self::NotPem => "`openssl x509 -inform DER`, `openssl crl -inform DER`, `openssl pkcs12 -nodes`.",
            Self::PemMalformed => "Write the file again from its source; the line is named.",
            Self::Truncated => "Wait for the writer, or write it again.",
            Self::PemLabel => "`openssl x509 -in old.pem -out new.pem`.",
            Self::UnexpectedBlock => "Take it out. A key that stood in a bundle has been seen by too many: replace it.",
            Self::NoCertificate => "Put the certificate there.",
            Self::NoPrivateKey => "Put the private key there.",
            Self::NoCrl => "Put the list there that the CA publishes, in PEM.",
            Self::TooManyCertificates => "Keep what the chain needs.",
            Self::BadDer => "Write the file again from its source.",
            Self::UnsupportedVersion => "Issue version 3. A version 1 root is accepted as an anchor, nothing else.",
            Self::UnsupportedExtension => "Issue it without, or not critical.",
            Self::KeyEncrypted => "Store it decrypted: `openssl pkey -in old.key -out new.key`.",
            Self::KeyAmbiguous => "Keep the right one.",
            Self::UnsupportedKey => "Use ECDSA P-256 or P-384, Ed25519, or RSA of 2,048 bits and more.",
            Self::WeakKey => "Make a new key.",
            Self::KeyMismatch => "Usually passes when both are written. Otherwise pair them, leaf first.",
            Self::WeakSignature => "Have the CA sign with SHA-256.",
            Self::UnsupportedSignature => "Have the CA sign with ECDSA, RSA or Ed25519.",
            Self::ChainBroken => "Put the CA's current intermediates behind the leaf.",
            Self::ChainExpired => "Put the CA's current intermediate there.",
            Self::Expired => "Renew; look at what renews it.",
            Self::NotYetValid => "Wait, or correct the clocks.",
            Self::BadValidity => "Issue it again.",
            Self::NoSan => "Issue it with DNS names, URIs or addresses.",
            Self::KeyUsage => "Issue it with the right key usage.",
            Self::ExtKeyUsage => "Issue it with both, or without the extension.",
            Self::CaAsLeaf => "Issue a leaf under it.",
            Self::NameNotCovered => "Issue it with that name, or correct the expectation.",
            Self::WrongIssuer => "Use the right issuer, or send the intermediates along.",
            Self::TrustUnavailable => "Look at that bundle's reason.",
            Self::NotACa => "Put the CA there that issued it.",
            Self::PathBudget => "Remove those that have been replaced.",
            Self::CrlUnrelated => {
                "Put the list beside the bundle of its issuer; lists of intermediates need these as anchors."
            }
            Self::CrlBadSignature => "Fetch it again from the CA.",
            Self::CrlRollback => "Fetch the current one. If the CA did begin its numbers anew, restart.",
            Self::CrlWithdrawn => "Put its list back, or take the CA out of the bundle too.",
            Self::CrlNotYet => "Correct the clocks, or wait.",
            Self::CrlUnsupported => "Publish a complete list of version 2.",
            Self::CrlTooLarge => {
                "Leave out lists of CAs that are no anchors; have the CA drop serials of certificates that have \
                 ended."
            }
            Self::Unusable => "A fault of Iris: please report it.",
        }
    }
}
