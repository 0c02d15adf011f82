//! The public keys of an identity provider (RFC 7517), and the verification of signatures by them (RFC 7518).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

/// A key as a provider publishes it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Jwk {
    pub(super) kid: Option<String>,
    kty: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<Algorithm>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// A key that verifies signatures.
pub(super) struct SigningKey {
    material: Material,
    /// The only algorithm of the key, if the provider names it.
    algorithm: Option<Algorithm>,
}

enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl SigningKey {
    /// Returns the key; `None` for symmetric keys, keys of other purposes, and kinds that are not supported.
    pub(super) fn of(jwk: &Jwk) -> Option<Self> {
        if jwk.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let number = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
        // The uncompressed form of a point (SEC 1, section 2.3.3).
        let point = || Some([&[4], &*number(&jwk.x)?, &*number(&jwk.y)?].concat());
        let material = match (&*jwk.kty, jwk.crv.as_deref()) {
            ("RSA", _) => Material::Rsa { n: number(&jwk.n)?, e: number(&jwk.e)? },
            ("EC", Some("P-256")) => Material::P256(point()?),
            ("EC", Some("P-384")) => Material::P384(point()?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(number(&jwk.x)?),
            _ => return None,
        };
        Some(Self { material, algorithm: jwk.alg })
    }

    /// Returns whether this key signed a JWT with the algorithm in its header. An algorithm of another kind of key
    /// never verifies.
    pub(super) fn signed(&self, token: &str, algorithm: Algorithm) -> bool {
        let Some((message, signature)) = token.rsplit_once('.') else { return false };
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        if self.algorithm.is_some_and(|only| only != algorithm) {
            return false;
        }
        let message = message.as_bytes();
        let verify = |by: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(by, key).verify(message, &signature).is_ok()
        };
        match (&self.material, algorithm) {
            (Material::Rsa { n, e }, _) => rsa(algorithm)
                .is_some_and(|by| RsaPublicKeyComponents { n, e }.verify(by, message, &signature).is_ok()),
            (Material::P256(key), Algorithm::ES256) => verify(&ECDSA_P256_SHA256_FIXED, key),
            (Material::P384(key), Algorithm::ES384) => verify(&ECDSA_P384_SHA384_FIXED, key),
            (Material::Ed25519(key), Algorithm::EdDSA) => verify(&ED25519, key),
            _ => false,
        }
    }
}

/// Returns the parameters of an algorithm of RSA keys, which have at least 2048 bits.
fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::RS256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Some(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Some(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Some(&RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Some(&RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Some(&RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}
