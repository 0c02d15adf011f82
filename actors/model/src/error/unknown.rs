//! The error for a name that is none of the known ones.

use super::Error;

/// The similarity from which a known name may be the one that was meant.
const NEAR: f64 = 0.8;
/// The longest name in bytes that is compared with the known ones.
const LONGEST: usize = 64;

impl Error {
    /// Returns the error for a name that is none of the known ones; `kind` says what it would be the name of. It names
    /// those that are similar, and all of them (C-19, C-19a).
    pub fn unknown_name(kind: &str, given: &str, known: &[&str]) -> Self {
        let near: Vec<String> =
            known.iter().filter(|known| is_near(given, known)).map(|known| format!("'{known}'")).collect();
        let hint =
            if near.is_empty() { ".".to_owned() } else { format!("; is {} meant?", near.join(" or ")) };
        let shown: String = given.escape_debug().take(LONGEST).collect();
        Self::Invalid(format!("Unknown {kind} '{shown}'{hint} Known {kind}s: {}", known.join(", ")))
    }
}

/// Returns whether a client that wrote `given` may have meant `known`.
fn is_near(given: &str, known: &str) -> bool {
    let given = given.to_ascii_lowercase();
    given.len() < LONGEST && strsim::jaro_winkler(&given, &known.to_ascii_lowercase()) > NEAR
}
