//! Second factors (docs/rules.md#c-27): the secret that a person's authenticator shares with the server, the codes that
//! both compute from it and from the time (RFC 6238: SHA-1, 6 digits, steps of 30 seconds), and the recovery codes.

use platform_model::users::second_factor::RecoveryCode;
use ring::rand::{SecureRandom, SystemRandom};
use totp_rs::{Builder, Secret, Totp};

/// The number of bytes of a secret, which RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
/// The number of recovery codes that a person gets.
const RECOVERY_CODES: usize = 10;

/// A secret that an authenticator and the server share.
pub struct SharedSecret(Totp);

impl SharedSecret {
    /// Generates a secret.
    ///
    /// # Panics
    /// The system has no random source left.
    pub fn generate() -> Self {
        let mut bytes = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut bytes).expect("the system's random source works");
        Self::of(Secret::new_stack(bytes))
    }

    /// Parses the form that is stored and shown, Base32; `None` for another text.
    pub fn parse(text: &str) -> Option<Self> {
        Secret::try_from_base32(text)
            .ok()
            .filter(|secret| secret.as_bytes().len() == SECRET_BYTES)
            .map(Self::of)
    }

    fn of(secret: Secret) -> Self {
        // The defaults are those of RFC 6238, with a tolerance of one step.
        Self(Builder::new().with_secret(secret).build_noncompliant())
    }

    /// Returns the secret in Base32.
    pub fn base32(&self) -> String {
        self.0.secret().to_base32()
    }

    /// Returns the step of time whose code this is, if it is the current one or the one before or after it. The
    /// comparison of a code takes the same time for each wrong one. `now` is in seconds since 1970.
    pub fn step_of(&self, code: &str, now: u64) -> Option<i64> {
        self.0.check(code, now).and_then(|step| i64::try_from(step).ok())
    }
}

/// Generates the recovery codes of a person.
///
/// # Panics
/// The system has no random source left.
pub fn draw_recovery_codes() -> Vec<RecoveryCode> {
    let draw = || {
        let mut bytes = [0; RecoveryCode::BYTES];
        SystemRandom::new().fill(&mut bytes).expect("the system's random source works");
        RecoveryCode::of(bytes)
    };
    (0..RECOVERY_CODES).map(|_| draw()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret of the test vectors of RFC 6238, appendix B.
    fn secret_of_rfc() -> SharedSecret {
        SharedSecret::of(Secret::new_stack(*b"12345678901234567890"))
    }

    #[test]
    fn codes_are_those_of_rfc_6238() {
        // The vectors have eight digits; a code of six digits has the last six of them.
        for (seconds, vector) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            let step = secret_of_rfc().step_of(&vector[2..], seconds);
            assert_eq!(step, i64::try_from(seconds / 30).ok(), "{seconds}");
        }
    }

    #[test]
    fn code_counts_one_step_earlier_and_later_and_tells_its_step() {
        let secret = secret_of_rfc();
        let (code, step, at) = ("050471", 37_037_037, 1_111_111_111);
        for (now, expected) in [
            (at - 61, None),
            (at - 31, Some(step)),
            (at, Some(step)),
            (at + 28 + 30, Some(step)),
            (at + 28 + 31, None),
        ] {
            assert_eq!(secret.step_of(code, now), expected, "{now}");
        }
    }

    #[test]
    fn anything_but_six_digits_is_no_code() {
        let secret = secret_of_rfc();
        for text in
            ["", "050471 ", "50471", "0050471", "14050471", "05047a", "\u{660}50471", "-50471", "+50471"]
        {
            assert_eq!(secret.step_of(text, 1_111_111_111), None, "{text:?}");
        }
    }

    #[test]
    fn secret_is_shown_in_base32_and_read_back() {
        assert_eq!(secret_of_rfc().base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        let generated = SharedSecret::generate();
        let read = SharedSecret::parse(&generated.base32()).expect("a secret");
        assert_eq!(read.base32(), generated.base32());
        assert_ne!(SharedSecret::generate().base32(), generated.base32());
        for text in ["", "GEZDGNBVGY3TQOJQ", "geheim", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ1"] {
            assert!(SharedSecret::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn recovery_codes_differ() {
        let codes: std::collections::BTreeSet<_> =
            draw_recovery_codes().iter().map(ToString::to_string).collect();
        assert_eq!(codes.len(), RECOVERY_CODES);
    }
}
