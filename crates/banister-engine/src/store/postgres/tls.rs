//! Encrypted connections.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::StoreError;

/// The server must prove its name with a certificate that this machine trusts.
pub(super) fn verified() -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    // Some that cannot be read do no harm as long as the server's can.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(StoreError::new(
            "this machine trusts no certificates, and sslmode=require needs one: \
             install them (ca-certificates) or name a file by SSL_CERT_FILE",
        ));
    }
    let config = builder()?.with_root_certificates(roots);
    Ok(connector(config.with_no_client_auth()))
}

/// Accepts any server, and so protects against eavesdropping alone. An attacker that answers in the server's place
/// could also deny encryption, so a check would not help.
pub(super) fn unverified() -> Result<MakeRustlsConnect, StoreError> {
    let config = builder()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider())));
    Ok(connector(config.with_no_client_auth()))
}

fn provider() -> Arc<CryptoProvider> {
    // Named, so that it does not matter which others the program has linked.
    Arc::new(ring::default_provider())
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, StoreError> {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| StoreError::new(format!("TLS: {e}")))
}

fn connector(mut config: ClientConfig) -> MakeRustlsConnect {
    // Servers from 17 on ask for it where TLS comes first (sslnegotiation=direct).
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    MakeRustlsConnect::new(config)
}

/// Takes every certificate; its holder must still have the key to it.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
