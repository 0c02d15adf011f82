//! The authenticator of a person, which shows the codes of its second factor (C-27). They are computed here by hand,
//! from RFC 4226 and RFC 6238.

use std::time::{SystemTime, UNIX_EPOCH};

use ring::hmac;
use serde_json::json;

use super::rest::{Caller, Response};

/// The path of the second factor of the current user.
pub const SECRET: &str = "/user/currentUser/totpSecret";
/// The path at which a password is exchanged for a token.
pub const TOKENS: &str = "/user/currentUser/tokens";

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

/// A person with a second factor.
#[derive(Debug)]
pub struct Person {
    /// Sends the password alone.
    pub basic: Caller,
    /// The secret of the authenticator.
    pub secret: String,
    /// The code that confirmed it.
    pub confirmation: String,
    /// The recovery codes.
    pub recovery_codes: Vec<String>,
}

impl Person {
    /// Sets up the second factor of a user.
    pub async fn of(basic: Caller) -> Self {
        let secret = basic.create(SECRET, &json!({})).await["secret"].as_str().unwrap().to_owned();
        let confirmation = code_of(&secret, step());
        let confirmed = basic.create(&format!("{SECRET}/verify"), &json!({"code": confirmation})).await;
        let codes = confirmed["recoveryCodes"].as_array().unwrap();
        let recovery_codes = codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect();
        Self { basic, secret, confirmation, recovery_codes }
    }

    /// Returns the next code, which counts already: the current one confirmed the second factor.
    pub fn next_code(&self) -> String {
        code_of(&self.secret, step() + 1)
    }

    /// Returns a code that counts neither now nor soon.
    pub fn wrong_code(&self) -> String {
        let near: Vec<_> = (step() - 3..step() + 20).map(|step| code_of(&self.secret, step)).collect();
        (0..).map(|n| format!("{n:06}")).find(|code| !near.contains(code)).unwrap()
    }

    /// Exchanges the password with this code for a token.
    pub async fn log_in(&self, code: &str) -> Response {
        log_in_with(&self.basic, code).await
    }

    /// Returns the person with a token.
    pub async fn with_token(&self, code: &str) -> Caller {
        let token = self.log_in(code).await.expect(201).json()["accessToken"].clone();
        self.basic.with_token(token.as_str().unwrap())
    }
}

/// Exchanges a password with this code for a token.
pub async fn log_in_with(basic: &Caller, code: &str) -> Response {
    basic.request("POST", TOKENS).accepting_json().json(&json!({})).header("TFAToken", code).send().await
}
