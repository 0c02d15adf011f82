//! Sealing: encryption of secrets that must be readable again, but not from the database alone (Z-05).
//!
//! AES-256-GCM under a key that is derived from the secret key's file. The names a secret is bound to are
//! authenticated with it, so that a writer to the database cannot move it to a place where it would be shown.

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};

/// The tag of a sealed text, so that another format can be added.
const SEALED: &str = "$gcm1$";

/// The key that seals and opens texts.
pub struct SealingKey(LessSafeKey);

impl SealingKey {
    /// Derives the key from the secret key: neither reveals the other.
    pub(super) fn derive(secret: &[u8]) -> Self {
        let secret = Salt::new(HKDF_SHA256, b"platform").extract(secret);
        let key = secret.expand(&[b"sealed options"], &AES_256_GCM).expect("one key is within the bounds");
        Self(LessSafeKey::new(UnboundKey::from(key)))
    }

    /// Seals a text and binds it to a place, e.g. tenant, category and key.
    ///
    /// # Panics
    /// The system has no random source left.
    pub fn seal(&self, place: [impl AsRef<str>; 3], text: &str) -> String {
        // The nonce is random: 2^32 texts under one key are safe, and nobody stores as many secrets.
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).expect("the system's random source works");
        let mut sealed = text.as_bytes().to_vec();
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), associated(place), &mut sealed)
            .expect("a text is within the bounds of AES-GCM");
        format!("{SEALED}{}", STANDARD_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens a text that was sealed for this place; `None` for anything else.
    pub fn open(&self, place: [impl AsRef<str>; 3], sealed: &str) -> Option<String> {
        let mut sealed = STANDARD_NO_PAD.decode(sealed.strip_prefix(SEALED)?).ok()?;
        let (nonce, sealed) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = self.0.open_in_place(nonce, associated(place), sealed).ok()?;
        String::from_utf8(text.to_vec()).ok()
    }
}

/// Returns the place of the password that a device may collect once more. This place and the following ones never
/// change, because the stored texts are bound to them.
pub fn place_of_device_credentials(tenant: impl Display, id: impl Display) -> [String; 3] {
    [tenant.to_string(), "deviceCredentials".into(), id.to_string()]
}

/// Returns the place of the key of an application.
pub fn place_of_application_key(id: impl Display) -> [String; 3] {
    ["application".into(), id.to_string(), "key".into()]
}

/// Returns the place of the password of an application's `resourcesUrl`.
pub fn place_of_resources_password(id: impl Display) -> [String; 3] {
    ["application".into(), id.to_string(), "resourcesPassword".into()]
}

/// Returns the place of the password of a microservice's user in a tenant. `purpose` is the word that is stored.
pub fn place_of_application_user(tenant: impl Display, id: impl Display, purpose: &str) -> [String; 3] {
    ["application user".into(), tenant.to_string(), format!("{id} {purpose}")]
}

/// Returns the place of the secret of a user's second factor.
pub fn place_of_second_factor(tenant: impl Display, user: impl Display) -> [String; 3] {
    ["second factor".into(), tenant.to_string(), user.to_string()]
}

/// Returns the place of the private key of a certificate authority of a tenant.
pub fn place_of_authority_key(tenant: impl Display, fingerprint: impl Display) -> [String; 3] {
    ["certificate authority".into(), tenant.to_string(), fingerprint.to_string()]
}

/// Returns a place as associated data, with lengths, so that no two places are encoded alike.
fn associated(place: [impl AsRef<str>; 3]) -> Aad<Vec<u8>> {
    Aad::from(
        place
            .iter()
            .map(AsRef::as_ref)
            .flat_map(|part| (part.len() as u64).to_le_bytes().into_iter().chain(part.bytes()))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: [&str; 3] = ["t1", "mail", "credentials.password"];

    #[test]
    fn sealed_text_opens_in_its_place_only() {
        let key = SealingKey::derive(&[7; 32]);
        let sealed = key.seal(PLACE, "geheim ü");

        assert!(!sealed.contains("geheim"));
        assert_eq!(key.open(PLACE, &sealed).as_deref(), Some("geheim ü"));
        for place in [
            ["t2", "mail", "credentials.password"],
            ["t1", "mai", "lcredentials.password"],
            ["t1", "mail", "credentials.user"],
        ] {
            assert_eq!(key.open(place, &sealed), None, "{place:?}");
        }
        assert_eq!(SealingKey::derive(&[8; 32]).open(PLACE, &sealed), None, "under another key");
    }

    #[test]
    fn same_text_is_never_sealed_the_same() {
        let key = SealingKey::derive(&[7; 32]);
        assert_ne!(key.seal(PLACE, "x"), key.seal(PLACE, "x"));
    }

    #[test]
    fn text_that_was_not_sealed_or_was_changed_does_not_open() {
        let key = SealingKey::derive(&[7; 32]);
        let sealed = key.seal(PLACE, "x");
        let cut = &sealed[..sealed.len() - 1];
        for text in ["", "x", SEALED, "$gcm1$!", "$gcm1$AAAA", cut, &sealed.replace('$', "")] {
            assert_eq!(key.open(PLACE, text), None, "{text}");
        }
    }
}
