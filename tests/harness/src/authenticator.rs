//! The authenticator of a person, which shows the codes of its second factor (C-27). They are computed here by hand, from
//! RFC 4226 and RFC 6238.

use std::time::{SystemTime, UNIX_EPOCH};

use ring::hmac;

/// Returns the current step of time.
pub fn step() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 30
}

/// Returns the code of a step, with the secret in Base32.
pub fn code_of(secret: &str, step: u64) -> String {
    let mut bits = String::new();
    for letter in secret.bytes() {
        let value = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".iter().position(|known| *known == letter).unwrap();
        bits += &format!("{value:05b}");
    }
    let key: Vec<u8> =
        (0..bits.len() / 8).map(|n| u8::from_str_radix(&bits[8 * n..8 * n + 8], 2).unwrap()).collect();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let at = usize::from(tag.as_ref()[19] & 15);
    let number = u32::from_be_bytes(tag.as_ref()[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}
