//! Second factors (docs/rules.md#c-27): a code of an authenticator or a recovery code completes a password, for one
//! request or one session.
//!
//! Wrong codes are throttled as wrong passwords are, but as those of an account of their own: somebody who knows the
//! password forgives himself nothing by sending it. In addition, the store delays further codes after a few wrong ones,
//! at all servers together; recovery codes, which nobody can guess, count nevertheless.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use platform_front::secrets::sealing::place_of_second_factor;
use platform_front::secrets::second_factor::SharedSecret;
use platform_front::telemetry;
use platform_model::id::TenantId;
use platform_model::users::second_factor::RecoveryCode;
use platform_store::users::second_factors::{Trial, accept_step, begin_trial, use_recovery_code};

use super::caller::Proof;
use super::throttle::RequestSource;
use super::{Authenticator, Caller, Identity};
use crate::http::error::{ApiError, FactorFlaw, Result};

/// Returns the seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl Authenticator {
    /// Completes a password with a code, if the user has a second factor and the client sent one. Other callers stay as
    /// they are, and so does one without a code.
    ///
    /// # Errors
    /// Those of [`verify_code`](Self::verify_code).
    pub(crate) async fn prove(
        &self,
        caller: Caller,
        code: Option<&str>,
        source: RequestSource,
    ) -> Result<Caller> {
        let (Some(FactorFlaw::Missing), Some(code)) = (caller.flaw(), code) else { return Ok(caller) };
        self.verify_code(&caller, code, source).await?;
        let identity = Identity { proof: Proof::PasswordAndCode, ..Identity::clone(&caller.identity) };
        Ok(Caller { identity: Arc::new(identity), ..caller })
    }

    /// Verifies a code of the second factor of a user, and uses it up.
    ///
    /// # Errors
    /// `SecondFactor` for a wrong code and one that was used; `TooManyRequests` after too many wrong ones;
    /// `Unavailable` or `Database`.
    pub(crate) async fn verify_code(&self, caller: &Caller, code: &str, source: RequestSource) -> Result<()> {
        let (tenant, user) = (&caller.tenant, &*caller.user);
        // No user has this name, because names contain no slash (C-02).
        let account = self.throttle.account(tenant, &format!("{user}/second factor"));
        let mut attempt = self.throttle.enter(account, source).await?;
        let accepted = match RecoveryCode::parse(code) {
            Some(code) => {
                attempt.tried();
                use_recovery_code(&self.database, tenant, user, &code).await?
            }
            None => match begin_trial(&self.database, tenant, user).await? {
                Trial::Permitted(sealed) => {
                    attempt.tried();
                    self.accepts(tenant, user, &sealed, code).await?
                }
                Trial::Wait(wait) => {
                    let retry_after = wait.as_secs() + 1;
                    return Err(ApiError::TooManyRequests { of: "wrong codes", retry_after });
                }
                Trial::Absent => false,
            },
        };
        if accepted {
            attempt.succeeded();
            return Ok(());
        }
        telemetry::count_failed_login("second factor");
        tracing::warn!(target: "platform::security", %tenant, user, %source, "log-in failed: wrong code");
        Err(ApiError::SecondFactor(FactorFlaw::Wrong))
    }

    /// Seals the secret of a user's second factor.
    pub(crate) fn seal_second_factor(&self, caller: &Caller, secret: &SharedSecret) -> String {
        let place = place_of_second_factor(&caller.tenant, &caller.user);
        self.secret_key.sealing().seal(place, &secret.base32())
    }

    /// Returns the step of a code that confirms a sealed secret; `None` for a wrong code.
    pub(crate) fn confirm_second_factor(&self, caller: &Caller, sealed: &str, code: &str) -> Option<i64> {
        self.open_second_factor(&caller.tenant, &caller.user, sealed)?.step_of(code, now())
    }

    fn open_second_factor(&self, tenant: &TenantId, user: &str, sealed: &str) -> Option<SharedSecret> {
        let secret = self.secret_key.sealing().open(place_of_second_factor(tenant, user), sealed);
        let secret = secret.as_deref().and_then(SharedSecret::parse);
        if secret.is_none() {
            tracing::error!(%tenant, user, "the secret of a second factor cannot be opened with the secret key");
        }
        secret
    }

    async fn accepts(&self, tenant: &TenantId, user: &str, sealed: &str, code: &str) -> Result<bool> {
        let secret = self.open_second_factor(tenant, user, sealed);
        match secret.and_then(|secret| secret.step_of(code, now())) {
            Some(step) => Ok(accept_step(&self.database, tenant, user, step).await?),
            None => Ok(false),
        }
    }
}
