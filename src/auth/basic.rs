//! Basic credentials: `[tenant/]user:password` (document 1, Authentication 3; C-02).

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

/// What a client presented, unproven.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    /// The tenant before the first slash, when there is one.
    pub(super) tenant: Option<String>,
    /// The user's name.
    pub(super) user: String,
    /// The password.
    pub(super) password: String,
}

/// Longest header that is looked at.
const MAX_HEADER: usize = 8 << 10;

impl Credentials {
    /// Reads the value of an `Authorization` header; `None` when it is not Basic or cannot be read.
    pub(super) fn from_header(value: &[u8]) -> Option<Self> {
        let (scheme, token) = std::str::from_utf8(value).ok()?.trim().split_once(' ')?;
        let token = token.trim();
        if !scheme.eq_ignore_ascii_case("Basic") || token.len() > MAX_HEADER {
            return None;
        }
        let bytes = STANDARD.decode(token).or_else(|_| STANDARD_NO_PAD.decode(token)).ok()?;
        // UTF-8 where it is, else Latin-1: each byte is a character (RFC 7617).
        let text =
            String::from_utf8(bytes).unwrap_or_else(|e| e.into_bytes().into_iter().map(char::from).collect());
        let (user, password) = text.split_once(':')?;
        let (tenant, user) = match user.split_once('/') {
            Some((tenant, user)) => (Some(tenant.to_owned()), user),
            None => (None, user),
        };
        Some(Self { tenant, user: user.to_owned(), password: password.to_owned() })
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("tenant", &self.tenant)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Option<(Option<String>, String, String)> {
        let header = format!("Basic {}", STANDARD.encode(text));
        Credentials::from_header(header.as_bytes()).map(|c| (c.tenant, c.user, c.password))
    }

    #[test]
    fn tenant_is_split_at_the_first_slash_and_password_at_the_first_colon() {
        assert_eq!(read(b"t1/joe:a:b/c"), Some((Some("t1".into()), "joe".into(), "a:b/c".into())));
        assert_eq!(read(b"joe:secret"), Some((None, "joe".into(), "secret".into())));
        assert_eq!(read("joe:ü".as_bytes()), Some((None, "joe".into(), "ü".into())));
        assert_eq!(read(b"joe:\xfc"), Some((None, "joe".into(), "ü".into())));
    }

    #[test]
    fn what_is_not_basic_is_refused() {
        assert_eq!(read(b"no colon"), None);
        for header in ["", "Basic", "Basic !!!", "Bearer abc", "Basic  "] {
            assert_eq!(Credentials::from_header(header.as_bytes()), None, "{header}");
        }
    }
}
