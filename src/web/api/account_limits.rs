//! `/v2/<account>/limits`: the limits query (docs/rules.md#limits-query; L-01 to L-05).

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use platform_actors::Platform;
use platform_model::tenancy::account_limits::AccountId;

use crate::auth::{Authenticator, RequestSource};
use crate::http::client_address;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result, Shape};

/// `GET /v2/<account>/limits`: returns the limits of the account, for the token in the header `X-Auth-Token`. No
/// other credentials are needed (C-03), and `Accept` and `Content-Type` are ignored (L-05).
///
/// # Errors
/// 401 for a missing, unknown or expired token, which is checked first; 404 for an account that does not
/// exist, 403 for an account that the token is not for (L-03); each with a body of L-04.
pub async fn get(
    request: HttpRequest,
    path: web::Path<String>,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    find(&request, &path, &platform, &authenticator).await.map_err(|error| error.shaped(Shape::LimitsQuery))
}

async fn find(
    request: &HttpRequest,
    account: &str,
    platform: &Platform,
    authenticator: &Authenticator,
) -> Result<HttpResponse> {
    let token = request.headers().get("X-Auth-Token").and_then(|value| value.to_str().ok());
    let source = RequestSource::of(client_address(request));
    let token = token.ok_or(ApiError::Unauthorized)?.trim();
    let (own, limits) = authenticator.account_of(token, source).await?;

    let unknown = || ApiError::NoSuchPath(request.path().chars().take(200).collect());
    let account = AccountId::parse(account).map_err(|_| unknown())?;
    if account != own {
        return if platform_store::users::account_limits::is_known(platform.database(), &account).await? {
            Err(ApiError::forbidden_because("the token is for another account"))
        } else {
            Err(unknown())
        };
    }
    let json = serde_json::to_vec(&limits).expect("writing to memory does not fail and all keys are strings");
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, "application/json")).body(json))
}
