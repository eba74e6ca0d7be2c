//! The only constructor of opening TLS configurations.

use std::{fmt, sync::Arc};

use rustls::{
    ClientConfig, SignatureScheme,
    client::{ResolvesClientCert, Resumption, danger::ServerCertVerifier},
    sign::CertifiedKey,
};

use super::{configs::DeriveError, policy};
use crate::plan::TlsPolicy;

/// A configuration that judges servers by `verifier` and shows `identity` to those that ask. No session is ever
/// resumed and no early data sent. Application protocols are the dial's to set.
pub(crate) fn config(
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<Arc<CertifiedKey>>,
    policy: &TlsPolicy,
) -> Result<ClientConfig, DeriveError> {
    let builder = ClientConfig::builder_with_provider(policy::restricted(policy))
        .with_protocol_versions(&policy::versions(policy))
        .map_err(DeriveError::Tls)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match identity {
        Some(identity) => builder.with_client_cert_resolver(Arc::new(Shown(identity))),
        None => builder.with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    config.enable_early_data = false;
    // As for listeners (RFC 7627).
    config.require_ems = true;
    Ok(config)
}

struct Shown(Arc<CertifiedKey>);

impl ResolvesClientCert for Shown {
    fn resolve(&self, _hints: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        // Hints may be cut or empty; the server judges.
        Some(self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

// The key stays out of any output.
impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").finish_non_exhaustive()
    }
}
