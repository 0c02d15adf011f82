//! Certificates of the devices: an authority that the tenant trusts for the time of the run, and one for each device.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, SigningKey as _,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use serde_json::json;

use crate::error::Error;
use crate::target::Target;

/// An authority that the tenant of the run trusts.
#[derive(Debug)]
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    path: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    fingerprint: String,
    #[serde(rename = "proofOfPossessionUnsignedVerificationCode")]
    code: Option<String>,
}

impl Authority {
    /// Makes an authority, and lets the tenant trust it.
    ///
    /// # Errors
    /// The server rejects it.
    pub(super) async fn trusted(target: &Target) -> Result<Self, Error> {
        let mut params = named("load test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().map_err(failed)?;
        let issuer = CertifiedIssuer::self_signed(params, key).map_err(failed)?;
        let tenant = format!("/tenant/tenants/{}", target.tenant().await?);
        let mut connection = target.connect().await?;
        let body = json!({"name": "load test", "certInPemFormat": issuer.pem()}).to_string();
        let all = format!("{tenant}/trusted-certificates");
        let Created { fingerprint, .. } =
            connection.json(201, "trusting an authority", &target.post(&all, &body)).await?;
        let proof = format!("{tenant}/trusted-certificates-pop/{fingerprint}");
        let request = target.post(&format!("{proof}/verification-code"), "{}");
        let Created { code, .. } = connection.json(200, "requesting a code", &request).await?;
        let signature = issuer.key().sign(code.unwrap_or_default().as_bytes()).map_err(failed)?;
        let body = json!({"proofOfPossessionSignedVerificationCode": STANDARD.encode(signature)}).to_string();
        let request = target.post(&format!("{proof}/pop"), &body);
        connection.call("proving the possession", &request).await?.expect(200, "proving the possession")?;
        Ok(Self { issuer, path: format!("{all}/{fingerprint}") })
    }

    /// Returns the server, accessed by a device with a certificate.
    ///
    /// # Errors
    /// The target is not encrypted.
    pub(super) fn target(&self, admin: &Target, device: &str) -> Result<Target, Error> {
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = named(device);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let leaf = params.signed_by(&key, &self.issuer).map_err(failed)?;
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(failed)?;
        admin.with_certificate(CertificateDer::from(leaf.der().to_vec()), key)
    }

    /// Deletes the authority.
    ///
    /// # Errors
    /// The server rejects that.
    pub(super) async fn remove(&self, target: &Target) -> Result<(), Error> {
        let request = target.delete(&self.path);
        let step = "deleting the authority";
        target.connect().await?.call(step, &request).await?.expect(204, step).map(drop)
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Refused(format!("a certificate: {error}"))
}
