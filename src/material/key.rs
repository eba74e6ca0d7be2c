//! The private key of an identity: exactly one, not encrypted, of a kind that the provider can sign with.

use std::sync::Arc;

use rustls::{
    pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer},
    sign::SigningKey,
};

use super::{
    der,
    pem::{Block, Label},
    provider::provider,
    reason::{Fault, Reason},
};

/// The one key among the blocks of a key file. Certificates and parameters beside it are not its business.
pub(crate) fn select(blocks: &[Block]) -> Result<&Block, Fault> {
    let keys: Vec<&Block> = blocks.iter().filter(|block| block.label.is_private_key()).collect();
    let Some(first) = keys.first() else {
        let found: Vec<&str> = blocks.iter().map(|block| block.label.name()).collect();
        let detail = match found.as_slice() {
            [] => "no PEM block at all".to_owned(),
            labels => format!("expected a PRIVATE KEY block; the blocks are {}", labels.join(", ")),
        };
        return Err(Fault::new(Reason::NoPrivateKey, detail));
    };
    if let Some(locked) = keys.iter().find(|key| key.encrypted || key.label == Label::EncryptedKey) {
        let detail = format!("the key of line {} needs a passphrase; store it decrypted", locked.line);
        return Err(Fault::new(Reason::KeyEncrypted, detail));
    }
    if keys.iter().any(|key| key.content != first.content) {
        let lines: Vec<String> = keys.iter().map(|key| key.line.to_string()).collect();
        return Err(Fault::new(Reason::KeyAmbiguous, format!("different keys in lines {}", lines.join(", "))));
    }
    Ok(first)
}

/// The key, ready to sign.
pub(crate) fn load(block: &Block) -> Result<Arc<dyn SigningKey>, Fault> {
    if !der::is_one_sequence(&block.content) {
        return Err(Fault::new(Reason::BadDer, format!("the key of line {} is not whole", block.line)));
    }
    let unsupported = |what: &str| Fault::new(Reason::UnsupportedKey, format!("the key of line {} {what}", block.line));
    let content = block.content.clone();
    let key: PrivateKeyDer<'static> = match &block.label {
        Label::Pkcs8 => PrivatePkcs8KeyDer::from(content).into(),
        Label::Pkcs1 => PrivatePkcs1KeyDer::from(content).into(),
        Label::Sec1 if !names_its_curve(&content) => {
            return Err(unsupported("does not name its curve (RFC 5915 section 3)"));
        }
        Label::Sec1 => PrivateSec1KeyDer::from(content).into(),
        other => return Err(unsupported(&format!("is of a kind ({}) that cannot be read", other.name()))),
    };
    // The provider's own words are left out: they might one day quote what they failed on.
    provider().key_provider.load_private_key(key).map_err(|_| {
        unsupported("is none that can sign here: RSA of 2,048 to 8,192 bits, P-256, P-384, P-521, Ed25519, ML-DSA")
    })
}

/// Whether `ECPrivateKey.parameters` is present: without it the curve could only be guessed.
fn names_its_curve(sec1: &[u8]) -> bool {
    let fields = || {
        let (outer, _) = der::expect(der::SEQUENCE, sec1)?;
        let (_version, rest) = der::read(outer.contents)?;
        let (_key, rest) = der::read(rest)?;
        der::read(rest)
    };
    fields().is_some_and(|(field, _)| field.tag == 0xa0)
}
