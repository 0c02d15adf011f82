//! Tokens of the limits query: header `X-Auth-Token` (docs/rules.md#limits-query; L-02, L-03).

use platform_actors::model::account_limits::{AccountId, AccountLimits};
use platform_actors::store;

use super::throttle::Source;
use super::{Authenticator, access_token};
use crate::http::error::{ApiError, Result};

impl Authenticator {
    /// The account that a token is for, with its limits. A token that is unknown counts as a guess.
    ///
    /// # Errors
    /// `Unauthorized` for an unknown or expired token; `TooManyRequests` when too many of the source wait already.
    pub async fn account_of(&self, token: &str, source: Source) -> Result<(AccountId, AccountLimits)> {
        let hash = access_token::hash(token).ok_or(ApiError::Unauthorized)?;
        let _turn = self.throttle.slow_down(source).await?;
        let found = store::account_limits::find_by_token(&self.database, hash).await?;
        found.ok_or_else(|| {
            self.throttle.failed_at(source);
            ApiError::Unauthorized
        })
    }
}
