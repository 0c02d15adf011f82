//! Basic credentials: `[tenant/]user:password` (docs/rules.md#tenants-and-credentials; C-02), and their
//! verification.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use platform_front::secrets::password;
use platform_front::telemetry;
use platform_model::device_id::DeviceId;
use platform_model::id::TenantId;
use platform_model::tenancy::tenant::TenantStatus;
use platform_model::users::user::Account;
use time::OffsetDateTime;

use super::throttle::{Attempt, RequestSource};

use super::{Authenticator, Caller, MACHINE_SECRET, Proof};
use crate::http::error::{ApiError, Result};

/// Credentials as presented, not yet verified.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    /// The tenant before the first slash, if there is one.
    pub(super) tenant: Option<String>,
    /// The user name.
    pub(super) user: String,
    /// The password.
    pub(super) password: String,
}

/// The longest header that is parsed.
const MAX_HEADER: usize = 8 << 10;

impl Credentials {
    /// Parses the value of an `Authorization` header; `None` when it is not Basic or malformed.
    pub(super) fn from_header(value: &[u8]) -> Option<Self> {
        let (scheme, token) = std::str::from_utf8(value).ok()?.trim().split_once(' ')?;
        let token = token.trim();
        if !scheme.eq_ignore_ascii_case("Basic") || token.len() > MAX_HEADER {
            return None;
        }
        let bytes = STANDARD.decode(token).or_else(|_| STANDARD_NO_PAD.decode(token)).ok()?;
        // The text is UTF-8 if it is valid, otherwise Latin-1, in which each byte is a character (RFC 7617).
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

impl Authenticator {
    /// Returns the caller for a user name and password (C-01 to C-03). All failures take the same time.
    pub(super) async fn verify_password(
        &self,
        credentials: Credentials,
        host: &str,
        source: RequestSource,
    ) -> Result<Caller> {
        let Credentials { tenant, user, password } = credentials;
        let seen = self.changes.now();
        let tenant = match &tenant {
            Some(tenant) => TenantId::parse(tenant).map_err(|_| ApiError::Unauthorized)?,
            None => self.domains.tenant_of(host).await?,
        };
        // PostgreSQL stores no NUL, and names have at most 1000 characters (U-08), after `device_` (N-08).
        if user.contains('\0') || user.chars().count() > 1007 {
            return Err(ApiError::Unauthorized);
        }
        if let Some((user, status)) = self.find_by_secret(&tenant, &user, &password).await? {
            if !user.enabled {
                let user = &*user.name;
                tracing::warn!(target: "platform::security", %tenant, user, %source, "log-in failed");
            }
            return self.admit_by_password(user, status, seen).await;
        }
        let mut attempt = self.throttle.enter(self.throttle.account(&tenant, &user), source).await?;
        let found = platform_store::users::find_user(&self.database, &tenant, &user).await?;
        let hash = found.as_ref().and_then(|(user, _)| user.password_hash.as_deref());
        let (hash_is_known, proven) =
            (hash.is_some(), self.proves(&tenant, password, hash, &mut attempt).await?);
        let Some((user, status)) = found.filter(|(user, _)| proven && user.enabled) else {
            // An unknown user name may be a mistyped password, so it is not logged.
            let user = if hash_is_known { user.as_str() } else { "(unknown)" };
            telemetry::count_failed_login("password");
            tracing::warn!(target: "platform::security", %tenant, user, %source, "log-in failed");
            return Err(ApiError::Unauthorized);
        };
        attempt.succeeded();
        self.admit_by_password(user, status, seen).await
    }

    /// Looks up the user if the password is a secret that this server generated. Such secrets cannot be
    /// guessed, so their owner need not wait because of other clients' guesses.
    async fn find_by_secret(
        &self,
        tenant: &TenantId,
        user: &str,
        password: &str,
    ) -> Result<Option<(Account, TenantStatus)>> {
        if password.chars().count() < MACHINE_SECRET {
            return Ok(None);
        }
        let found = platform_store::users::find_user(&self.database, tenant, user).await?;
        let Some((user, status)) = found else { return Ok(None) };
        let matches = match user.password_hash.as_deref() {
            Some(hash) => self.verifies(password, hash).await?,
            None => false,
        };
        Ok(matches.then_some((user, status)))
    }

    async fn admit_by_password(&self, user: Account, status: TenantStatus, seen: u64) -> Result<Caller> {
        if !user.enabled {
            return Err(ApiError::Unauthorized);
        }
        let unused = user.unused_until;
        let caller = self.admit(user, status, Proof::Password, seen)?;
        if !self.permits_password(&caller).await? {
            let (tenant, user) = (&caller.tenant, &caller.user);
            tracing::warn!(target: "platform::security", %tenant, %user, "log-in failed: people use single sign-on");
            return Err(ApiError::Unauthorized);
        }
        if let Some(until) = unused {
            self.used(&caller, until).await?;
        }
        Ok(caller)
    }

    /// Returns whether a caller may use a password: devices, microservices and bootstrap users always may, and people
    /// unless their tenant has switched passwords off (C-26).
    async fn permits_password(&self, caller: &Caller) -> Result<bool> {
        if !caller.is_person() {
            return Ok(true);
        }
        let provider = self.identity_providers.find(&caller.tenant, &self.changes).await?;
        Ok(provider.is_none_or(|provider| provider.described.permits_password(&caller.user)))
    }

    /// Deletes the stored credentials of a device that has used them, so that they are not returned again (N-08).
    async fn used(&self, caller: &Caller, until: OffsetDateTime) -> Result<()> {
        let Some(device) = DeviceId::of_user(&caller.user) else { return Ok(()) };
        Ok(platform_store::devices::credentials::forget(&self.database, &caller.tenant, &device, until)
            .await?)
    }

    /// Returns whether a password matches a hash. A correct generated secret is verified fast; everything
    /// else takes as long as a wrong password of a person.
    async fn proves(
        &self,
        tenant: &TenantId,
        password: String,
        hash: Option<&str>,
        attempt: &mut Attempt<'_>,
    ) -> Result<bool> {
        let chosen = hash.filter(|hash| password::is_chosen(hash));
        if chosen.is_none()
            && let Some(hash) = hash
        {
            if self.verifies(&password, hash).await? {
                return Ok(true);
            }
            attempt.tried();
        }
        attempt.hashing().await?;
        let turn = self.hashing.turn_of_log_in(tenant).await?;
        attempt.tried();
        let hash = chosen.unwrap_or(&self.unmatched_password_hash).to_owned();
        let matches = self.hashing.verify(turn, password, hash).await?;
        Ok(matches && chosen.is_some())
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
    fn other_schemes_than_basic_are_rejected() {
        assert_eq!(read(b"no colon"), None);
        for header in ["", "Basic", "Basic !!!", "Bearer abc", "Basic  "] {
            assert_eq!(Credentials::from_header(header.as_bytes()), None, "{header}");
        }
    }
}
