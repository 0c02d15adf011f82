//! RSA public keys of tenants, and verification of signatures by them (RS256; C-04).
//!
//! The specification allows keys of 512 bits and more; ring verifies 2048 to 8192, so smaller ones are
//! verified here: a signature is raised to the public exponent and compared, as a whole, with the only
//! correct block. No secret is involved, so nothing needs constant time.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result as JwtResult};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use num_bigint::BigUint;
use platform_model::error::Error;
use ring::digest::{SHA256, digest};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};

/// The size of a modulus in bits (C-04): at least 512; above 8192 verification would be slow.
const BITS: std::ops::RangeInclusive<usize> = 512..=8192;
/// The size from which on ring verifies; a smaller key counts as weak.
pub(super) const STRONG: usize = 2048;
/// The largest size of a public exponent in bits: a long one makes verification slow.
const EXPONENT_BITS: usize = 33;
/// The number of characters of a key's text; 8192 bits need about 1500.
const MAX_TEXT: usize = 16 << 10;
/// The DER of the object identifier `rsaEncryption`.
const RSA_ENCRYPTION: [u8; 11] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
/// The bytes before the hash in a signed block: DER for "SHA-256".
const DIGEST_INFO: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
    0x04, 0x20,
];

/// The provider by which `jsonwebtoken` verifies; it has no cryptography of its own and signs nothing.
pub(super) static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::InvalidAlgorithm.into()),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// A public key that verifies signatures.
pub(super) struct PublicKey {
    /// The key in the form of `jsonwebtoken`.
    pub(super) decoding: DecodingKey,
    /// The size of the modulus in bits.
    pub(super) bits: usize,
}

impl PublicKey {
    /// Parses the value of an option: PEM, with or without its armour lines, SubjectPublicKeyInfo or PKCS#1.
    /// `None` for anything but an acceptable RSA key.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let body = without_armour(text.trim()).filter(|_| text.len() <= MAX_TEXT)?;
        let base64: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let der = STANDARD.decode(base64).ok()?;
        let (n, e) = subject_public_key(&der).and_then(rsa_public_key).or_else(|| rsa_public_key(&der))?;
        let bits = bits(n);
        let odd = |number: &[u8]| number.last().is_some_and(|byte| byte % 2 == 1);
        let usable = BITS.contains(&bits) && odd(n) && odd(e) && e != [1] && self::bits(e) <= EXPONENT_BITS;
        usable.then(|| Self { decoding: DecodingKey::from_rsa_raw_components(n, e), bits })
    }
}

/// Checks the value of an option that is a key of tokens, because with an unusable key every token is 401 (T-09a).
///
/// # Errors
/// `Invalid` says what the value is instead. It never contains the value, which may be a private key.
pub fn check_public_key(option: &str, text: &str) -> Result<(), Error> {
    if PublicKey::parse(text).is_some() {
        return Ok(());
    }
    let (low, high) = (BITS.start(), BITS.end());
    let allowed = format!(
        "an RSA public key of {low} to {high} bits in PEM, \"-----BEGIN PUBLIC KEY-----\", with real line ends or none"
    );
    Err(Error::invalid_value(option, unusable(text), &allowed))
}

/// Describes a text that is not a usable key.
fn unusable(text: &str) -> &'static str {
    let label = text.trim().strip_prefix("-----BEGIN ").and_then(|rest| Some(rest.split_once("-----")?.0));
    match label {
        _ if text.len() > MAX_TEXT => "a text that is longer than any key",
        _ if text.trim().is_empty() => "an empty text",
        Some(label) if label.ends_with("CERTIFICATE") => "a certificate",
        Some(label) if label.ends_with("PRIVATE KEY") => "a private key",
        _ if text.contains("\\n") || text.contains("\\r") => {
            "a text whose line ends are a backslash and a letter"
        }
        Some("PUBLIC KEY" | "RSA PUBLIC KEY") => {
            "a public key that is damaged, is not of RSA, or has another size"
        }
        Some(_) => "PEM of another kind",
        None if text.contains("-----END ") => "PEM without its first line",
        None => "a text that is not a key",
    }
}

/// Returns the text between the armour lines, or all of it if there are none.
fn without_armour(text: &str) -> Option<&str> {
    let Some(rest) = text.strip_prefix("-----BEGIN ") else { return Some(text) };
    let (label, rest) = rest.split_once("-----")?;
    let (body, end) = rest.split_once("-----END ")?;
    (["PUBLIC KEY", "RSA PUBLIC KEY"].contains(&label) && end.strip_suffix("-----") == Some(label))
        .then_some(body)
}

/// Returns the bits of a SubjectPublicKeyInfo if it wraps an RSA key.
fn subject_public_key(der: &[u8]) -> Option<&[u8]> {
    let (info, []) = element(0x30, der)? else { return None };
    let (algorithm, rest) = element(0x30, info)?;
    let (bits, []) = element(0x03, rest)? else { return None };
    let parameters = algorithm.strip_prefix(&RSA_ENCRYPTION)?;
    let no_parameters = parameters.is_empty() || parameters == [0x05, 0x00];
    // The first byte counts unused bits.
    bits.strip_prefix(&[0]).filter(|_| no_parameters)
}

/// Returns modulus and exponent of a PKCS#1 public key, without leading zeros.
fn rsa_public_key(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (numbers, []) = element(0x30, der)? else { return None };
    let (n, rest) = element(0x02, numbers)?;
    let (e, []) = element(0x02, rest)? else { return None };
    Some((positive(n)?, positive(e)?))
}

/// Returns the content of the first DER element, which must have this tag, and the rest. Nothing here
/// recurses, because keys come from tenants and nesting must not cost stack.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match der.strip_prefix(&[tag])? {
        [short @ 0..=0x7f, rest @ ..] => (usize::from(*short), rest),
        [0x81, length @ 0x80..=0xff, rest @ ..] => (usize::from(*length), rest),
        [0x82, high @ 1..=0xff, low, rest @ ..] => (usize::from(*high) << 8 | usize::from(*low), rest),
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Returns a positive DER integer, which must have no unnecessary bytes.
fn positive(integer: &[u8]) -> Option<&[u8]> {
    match integer {
        [0, 0x80..=0xff, ..] => Some(&integer[1..]),
        [1..=0x7f, ..] => Some(integer),
        _ => None,
    }
}

fn bits(number: &[u8]) -> usize {
    number.first().map_or(0, |first| number.len() * 8 - first.leading_zeros() as usize)
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> JwtResult<Box<dyn JwtVerifier>> {
    match (algorithm, key.kind()) {
        (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
            Ok(Box::new(Rs256 { n: n.clone(), e: e.clone() }))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

/// RSASSA-PKCS1-v1_5 with SHA-256 under one key.
struct Rs256 {
    n: Vec<u8>,
    e: Vec<u8>,
}

impl JwtVerifier for Rs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

impl Verifier<Vec<u8>> for Rs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let bits = bits(&self.n);
        let valid = if bits >= STRONG {
            let key = RsaPublicKeyComponents { n: &self.n, e: &self.e };
            key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
        } else {
            BITS.contains(&bits) && self.verifies(message, signature)
        };
        valid.then_some(()).ok_or_else(signature::Error::new)
    }
}

impl Rs256 {
    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let (n, e) = (BigUint::from_bytes_be(&self.n), BigUint::from_bytes_be(&self.e));
        let s = BigUint::from_bytes_be(signature);
        if signature.len() != self.n.len() || s >= n {
            return false;
        }
        let block = s.modpow(&e, &n).to_bytes_be();
        // As a number, the block has no leading zero.
        block == block_for(message, self.n.len())[1..]
    }
}

/// Returns the block that a correct signature of `length` bytes yields: `00 01 FF … FF 00`, the name of the
/// hash, the hash.
fn block_for(message: &[u8], length: usize) -> Vec<u8> {
    let hash = digest(&SHA256, message);
    let mut block = vec![0xff; length - DIGEST_INFO.len() - hash.as_ref().len() - 1];
    (block[0], block[1]) = (0, 1);
    block.push(0);
    block.extend_from_slice(&DIGEST_INFO);
    block.extend_from_slice(hash.as_ref());
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a DER element.
    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len() as u16;
        let mut out = vec![tag];
        match length {
            0..=0x7f => out.push(length as u8),
            0x80..=0xff => out.extend([0x81, length as u8]),
            _ => out.extend([0x82, (length >> 8) as u8, length as u8]),
        }
        out.extend(content);
        out
    }

    fn pkcs1(n: &[u8], e: &[u8]) -> Vec<u8> {
        let number =
            |bytes: &[u8]| if bytes[0] >= 0x80 { der(2, &[&[0], bytes].concat()) } else { der(2, bytes) };
        der(0x30, &[number(n), number(e)].concat())
    }

    fn spki(n: &[u8], e: &[u8]) -> Vec<u8> {
        let algorithm = der(0x30, &[&RSA_ENCRYPTION[..], &[5, 0]].concat());
        der(0x30, &[algorithm, der(3, &[vec![0], pkcs1(n, e)].concat())].concat())
    }

    fn bits_of(der: &[u8]) -> Option<usize> {
        PublicKey::parse(&STANDARD.encode(der)).map(|key| key.bits)
    }

    #[test]
    fn key_is_read_with_and_without_armour_and_with_any_blanks() {
        let text = STANDARD.encode(spki(&[0xf1; 64], &[1, 0, 1]));
        let (a, b) = text.split_at(40);
        for text in [
            text.clone(),
            format!("  {a}\r\n\t{b}\n"),
            format!("-----BEGIN PUBLIC KEY-----\n{a}\n{b}\n-----END PUBLIC KEY-----\n"),
            format!("-----BEGIN PUBLIC KEY-----{text}-----END PUBLIC KEY-----"),
        ] {
            assert_eq!(PublicKey::parse(&text).map(|key| key.bits), Some(512), "{text}");
        }
        let old = STANDARD.encode(pkcs1(&[0xf1; 64], &[3]));
        let old = format!("-----BEGIN RSA PUBLIC KEY-----\n{old}\n-----END RSA PUBLIC KEY-----");
        assert_eq!(PublicKey::parse(&old).map(|key| key.bits), Some(512));
    }

    #[test]
    fn keys_out_of_bounds_are_refused() {
        let good = [0xf1; 64];
        assert_eq!(bits_of(&pkcs1(&[0x7f; 1024], &[3])), Some(8191));
        for (n, e) in [
            (&[0x7f; 64][..], &[1, 0, 1][..]),
            (&[0xf1; 1025], &[1, 0, 1]),
            (&[0xf0; 64], &[1, 0, 1]),
            (&good, &[1]),
            (&good, &[2]),
            (&good, &[1, 0, 0]),
            (&good, &[3, 0, 0, 0, 1]),
            (&good, &[1, 0, 0, 0, 0, 0, 0, 0, 1]),
        ] {
            assert_eq!(bits_of(&pkcs1(n, e)), None, "{} bits, e = {e:x?}", n.len() * 8);
        }
    }

    #[test]
    fn invalid_rsa_public_keys_are_rejected() {
        let good = spki(&[0xf1; 64], &[1, 0, 1]);
        let with = |at: usize, byte: u8| {
            let mut changed = good.clone();
            changed[at] = byte;
            changed
        };
        let nested = (0..200).fold(vec![5, 0], |inner, _| der(0x30, &inner));
        for bad in [vec![], vec![0x30], nested, good[1..].to_vec(), [&good[..], &[0]].concat(), with(12, 2)] {
            assert_eq!(bits_of(&bad), None, "{bad:x?}");
        }
        let text = STANDARD.encode(&good);
        for bad in [
            format!("-----BEGIN CERTIFICATE-----{text}-----END CERTIFICATE-----"),
            format!("-----BEGIN PUBLIC KEY-----{text}"),
            format!("-----BEGIN PUBLIC KEY-----{text}-----END RSA PUBLIC KEY-----"),
            format!("{text}{}", " ".repeat(MAX_TEXT)),
            "<<Encrypted>>".into(),
        ] {
            assert!(PublicKey::parse(&bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn value_that_is_no_key_is_named_and_not_shown() {
        let text = STANDARD.encode(spki(&[0xf1; 64], &[1, 0, 1]));
        let armoured =
            |label: &str, text: &str| format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n");
        let public = armoured("PUBLIC KEY", &text);
        assert!(check_public_key("k1", &public).is_ok() && check_public_key("k1", &text).is_ok());
        for (value, what) in [
            (armoured("CERTIFICATE", &text), "a certificate"),
            (armoured("TRUSTED CERTIFICATE", &text), "a certificate"),
            (armoured("PRIVATE KEY", &text), "a private key"),
            (armoured("RSA PRIVATE KEY", &text), "a private key"),
            (armoured("ENCRYPTED PRIVATE KEY", &text), "a private key"),
            (public.replace('\n', "\\n"), "line ends"),
            (public.replace('\n', "\\r\\n"), "line ends"),
            (armoured("PUBLIC KEY", &text[1..]), "damaged"),
            (armoured("PUBLIC KEY", &STANDARD.encode(pkcs1(&[0x7f; 64], &[3]))), "another size"),
            (armoured("CERTIFICATE REQUEST", &text), "PEM of another kind"),
            (public.split_once('\n').expect("lines").1.to_owned(), "without its first line"),
            (" ".into(), "empty"),
            ("a".repeat(MAX_TEXT + 1), "longer"),
            (text[4..].to_owned(), "not a key"),
        ] {
            let error = check_public_key("k1", &value).expect_err(what).to_string();
            assert!(error.starts_with("Invalid value of 'k1': ") && error.contains(what), "{what}: {error}");
            assert!(!error.contains(&text[10..40]), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_key_or_none(bytes in proptest::collection::vec(0_u8.., 0..300)) {
            let _ = bits_of(&bytes);
            let _ = bits_of(&der(0x30, &bytes));
            let _ = check_public_key("k1", &String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn arbitrary_bytes_are_not_a_signature(bytes in proptest::collection::vec(0_u8.., 0..130)) {
            let key = Rs256 { n: vec![0xf1; 64], e: vec![1, 0, 1] };
            assert!(key.verify(b"message", &bytes).is_err());
        }
    }
}
