//! Tokens of the limits query in the header `X-Auth-Token` (docs/rules.md#limits-query; L-02, L-03).

use platform_model::tenancy::account_limits::{AccountId, AccountLimits};

use super::throttle::RequestSource;
use super::{Authenticator, access_token};
use crate::http::error::{ApiError, Result};

impl Authenticator {
    /// Returns the account of a token, with its limits. An unknown token counts as a guess.
    ///
    /// # Errors
    /// `Unauthorized` for an unknown or expired token; `TooManyRequests` when too many requests of the source
    /// are waiting already.
    pub async fn account_of(&self, token: &str, source: RequestSource) -> Result<(AccountId, AccountLimits)> {
        let hash = access_token::hash(token).ok_or(ApiError::Unauthorized)?;
        let _turn = self.throttle.slow_down(source).await?;
        let found = platform_store::users::account_limits::find_by_token(&self.database, hash).await?;
        found.ok_or_else(|| {
            self.throttle.failed_at(source);
            ApiError::Unauthorized
        })
    }
}
