//! `/user/currentUser/totpSecret`: the second factor of the caller's own user (docs/rules.md#c-27), and its removal by
//! an administrator.

use actix_web::{HttpRequest, HttpResponse, web};
use platform_actors::Platform;
use platform_front::secrets::second_factor::{SharedSecret, draw_recovery_codes};
use platform_model::error::{Error, Noun};
use platform_model::naming::naming;
use platform_model::users::second_factor::{Activity, NewRecoveryCodes, NewSecret, parse_code};
use platform_model::users::user::parse_user_of_path;
use platform_store::users::second_factors::{self, Confirmation, StoredFactor, find_second_factor};

use crate::auth::{Authenticator, Caller, Oneself, RequestSource, code};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, FactorFlaw, Result};
use crate::http::{RequestHead, client_address, reply};

/// `POST /user/currentUser/totpSecret`: returns a new secret for the authenticator of the caller. It is not active
/// until a code confirms it, and replaces another one that is not. The response has a body whether or not `Accept` was
/// sent, because the secret is never shown again.
///
/// # Errors
/// 403 for a caller that is not a person, or sent no password; 409 when a second factor is active.
pub async fn create(
    Oneself(caller): Oneself,
    head: RequestHead,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    ensure_by_password(&caller)?;
    head.check_mode()?;
    let media_type = head.accepted("totpSecret")?;
    let secret = SharedSecret::generate();
    let sealed = authenticator.seal_second_factor(&caller, &secret);
    second_factors::insert_secret(platform.database(), &caller.tenant, &caller.user, &sealed).await?;
    let (links, account) = (head.links(), format!("{}/{}", caller.tenant, caller.user));
    let new = NewSecret { secret: secret.base32(), account, issuer: naming().issuer() };
    Ok(reply::issued(media_type, links.second_factor(), &new, &links))
}

/// `POST /user/currentUser/totpSecret/verify`: activates the secret with a code of it, ends the real-time sessions of
/// the user, and returns the recovery codes, which are never shown again.
///
/// # Errors
/// 403 as for [`create`]; 404 without a secret; 409 when the second factor is active already; 422 for a wrong code.
pub async fn verify(
    Oneself(caller): Oneself,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    ensure_by_password(&caller)?;
    head.check_mode()?;
    let (media_type, code) = body.parse(&["totpCode"], parse_code).await?;
    let administration = caller.administers_log_in(&platform)?;
    let StoredFactor { sealed, .. } = find(&caller, &platform).await?;
    let step = authenticator.confirm_second_factor(&caller, &sealed, &code);
    let step =
        step.ok_or_else(|| Error::invalid_value("code", &code, "the code that the authenticator shows"))?;
    let recovery_codes = draw_recovery_codes();
    let confirmation = Confirmation { sealed: &sealed, step, recovery_codes: &recovery_codes };
    second_factors::activate(platform.database(), &administration, &caller.user, &confirmation).await?;
    let links = head.links();
    Ok(reply::issued(media_type, links.second_factor(), &NewRecoveryCodes(recovery_codes), &links))
}

/// `GET /user/currentUser/totpSecret/activity`: returns whether the caller has a second factor, and how many recovery
/// codes are left.
///
/// # Errors
/// 406 for another media type.
pub async fn get(
    Oneself(caller): Oneself,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let caller = caller.beyond_bootstrap()?;
    let media_type = head.accepted("totpActivity")?;
    let found = find_second_factor(platform.database(), &caller.tenant, &caller.user).await?;
    let none = Activity { is_active: false, recovery_codes: 0 };
    Ok(reply::found(media_type, &found.map_or(none, |found| found.activity), &head.links()))
}

/// `DELETE /user/currentUser/totpSecret`: removes the second factor, with a code in the header `TFAToken`, and returns
/// 204.
///
/// # Errors
/// 401 without a code, and for a wrong one; 404 without a second factor.
pub async fn remove(
    Oneself(caller): Oneself,
    request: HttpRequest,
    head: RequestHead,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
) -> Result<HttpResponse> {
    let caller = caller.beyond_bootstrap()?;
    head.check_mode()?;
    let administration = caller.administers_log_in(&platform)?;
    if !find(&caller, &platform).await?.activity.is_active {
        return Err(Error::not_found(Noun::SecondFactor, &*caller.user).into());
    }
    // A stolen token must not suffice. A code that completed a password is used up already.
    if !caller.by_code() {
        let code = code(&request).ok_or(ApiError::SecondFactor(FactorFlaw::Missing))?;
        let source = RequestSource::of(client_address(&request));
        authenticator.verify_code(&caller, code, source).await?;
    }
    let (database, user) = (platform.database(), &caller.user);
    second_factors::delete_second_factor(database, &administration, user).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /user/<tenant>/users/<name>/totpSecret`: removes the second factor of another user, who has lost the phone,
/// ends its sessions and returns 204.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, except for the caller's own sub-users, and for the caller itself; 404 for an
/// unknown user, and one without a second factor.
pub async fn remove_of_user(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (tenant, name) = &*path;
    let administration = caller.administers_users(&platform, tenant).await?;
    head.check_mode()?;
    if caller.is_user(tenant, name) {
        return Err(ApiError::forbidden_because("users remove their own second factor with a code of it"));
    }
    let name = parse_user_of_path(name)?;
    second_factors::delete_second_factor(platform.database(), &administration, &name).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Checks that the caller is a person that sent its password: a stolen token must not lock its owner out.
fn ensure_by_password(caller: &Caller) -> Result<()> {
    if !caller.is_person() {
        return Err(ApiError::forbidden_because("only people have second factors"));
    }
    match caller.password() {
        Some(_) => Ok(()),
        None => {
            Err(ApiError::forbidden_because("a second factor is set up with the password, not with a token"))
        }
    }
}

async fn find(caller: &Caller, platform: &Platform) -> Result<StoredFactor> {
    let found = find_second_factor(platform.database(), &caller.tenant, &caller.user).await?;
    found.ok_or_else(|| Error::not_found(Noun::SecondFactor, &*caller.user).into())
}
