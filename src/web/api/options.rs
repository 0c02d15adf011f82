//! `/tenant/options` and `/tenant/system/options` (Z-04 to Z-06).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_front::secrets::password::SecretKey;
use platform_model::error::{Error, Noun};
use platform_model::id::{MANAGEMENT, TenantId};
use platform_model::limits::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};
use platform_model::role;
use platform_model::tenancy::tenant_option::{
    CategoryPatch, ENCRYPTED, Editable, NewTenantOption, OptionCategory, OptionName, SystemOption,
    TOKEN_PUBLIC_KEY, TenantOption, parse_category,
};
use platform_model::users::user::Administration;
use platform_store::tenancy::tenants::options::OptionChange;

use crate::auth::{Caller, check_public_key};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// `GET /tenant/options`: returns a page of the tenant's options by category and key.
///
/// # Errors
/// 403 without ROLE_OPTION_MANAGEMENT_READ, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::OPTION_MANAGEMENT_READ)?;
    let listing = Listing::of(&head, "optionCollection")?;
    let page = platform_store::tenancy::tenants::options::list_options(
        platform.database(),
        &caller.tenant,
        &listing.request,
    )
    .await?;
    listing.respond("options", &page)
}

/// `POST /tenant/options`: creates an option (201) or overwrites it (200).
///
/// # Errors
/// 403 without ROLE_OPTION_MANAGEMENT_ADMIN, for a token key without ROLE_USER_MANAGEMENT_ADMIN in addition
/// (T-09), and for an option that is not editable; 422 for an invalid body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    caller.require(role::OPTION_MANAGEMENT_ADMIN)?;
    head.check_mode()?;
    let (media_type, new) = body.parse(&["option"], NewTenantOption::parse).await?;
    let administration = caller.administers_options(&platform, &new.name.category)?;
    let (option, is_new) = write(&platform, &secret_key, &administration, new).await?;
    let links = head.links();
    Ok(if is_new {
        let location = links.tenant_option(&option.name.category, &option.name.key);
        reply::created(&head, media_type, location, &option, &links)
    } else {
        reply::updated(&head, media_type, &option, &links)
    })
}

/// `GET /tenant/options/<category>/<key>`: returns an option. Of a secret the client learns only that it
/// exists (Z-05).
///
/// # Errors
/// 403 without ROLE_OPTION_MANAGEMENT_READ, 404 for an option that is neither set nor predefined.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::OPTION_MANAGEMENT_READ)?;
    let media_type = head.accepted("option")?;
    let name = known_name(&path.0, &path.1)?;
    let option =
        platform_store::tenancy::tenants::options::get_option(platform.database(), &caller.tenant, name)
            .await?;
    Ok(reply::found(media_type, &option, &head.links()))
}

/// `PUT /tenant/options/<category>/<key>`: sets a value, whether or not the option existed.
///
/// # Errors
/// The errors of [`create`].
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    let administration = caller.administers_options(&platform, &path.0)?;
    head.check_mode()?;
    let (media_type, body) = body.object(&["option"]).await?;
    let new = NewTenantOption::parse_value(OptionName::parse(&path.0, &path.1)?, body)?;
    let (option, _) = write(&platform, &secret_key, &administration, new).await?;
    Ok(reply::updated(&head, media_type, &option, &head.links()))
}

/// `DELETE /tenant/options/<category>/<key>`: deletes an option. A predefined option gets its predefined
/// value back (Z-06).
///
/// # Errors
/// 403 as for [`create`], 404 for an unknown option.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_options(&platform, &path.0)?;
    head.check_mode()?;
    let name = known_name(&path.0, &path.1)?;
    let changes = [(name.clone(), OptionChange::Remove)];
    let before = platform_store::tenancy::tenants::options::write_options(
        platform.database(),
        &administration,
        &changes,
    )
    .await;
    if before.map_err(not_editable)?.contains(&name) || name.predefined().is_some() {
        Ok(HttpResponse::NoContent().finish())
    } else {
        Err(Error::not_found(Noun::Option, name).into())
    }
}

/// `GET /tenant/options/<category>`: returns keys and values; an empty object for a category without options.
///
/// # Errors
/// 403 without ROLE_OPTION_MANAGEMENT_READ.
pub async fn get_category(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::OPTION_MANAGEMENT_READ)?;
    let media_type = head.accepted("option")?;
    let category = category(&platform, &caller.tenant, &parse_category(&path)?).await?;
    Ok(reply::found(media_type, &*category, &head.links()))
}

/// `PUT /tenant/options/<category>`: sets these keys, all or none, and leaves the others; `null` removes a
/// key (C-10).
///
/// # Errors
/// The errors of [`create`].
pub async fn update_category(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    let administration = caller.administers_options(&platform, &path)?;
    head.check_mode()?;
    let (media_type, body) = body.object(&["option"]).await?;
    let name = parse_category(&path)?;
    let changes: Vec<_> = CategoryPatch::parse(&name, body)?
        .changes
        .into_iter()
        .map(|(name, value)| {
            let change = match value {
                Some(value) => set(&secret_key, &caller.tenant, &name, value)?,
                None => OptionChange::Remove,
            };
            Ok((name, change))
        })
        .collect::<Result<_>>()?;
    let database = platform.database();
    platform_store::tenancy::tenants::options::write_options(database, &administration, &changes)
        .await
        .map_err(not_editable)?;
    let category = category(&platform, &caller.tenant, &name).await?;
    Ok(reply::updated(&head, media_type, &category, &head.links()))
}

/// `PUT /tenant/options/<category>/<key>/editable`: sets whether a tenant may write an option. Only tenant
/// `management` may do that, for its own options or those of the tenant in the parameter `tenantId`.
///
/// # Errors
/// 403 without ROLE_OPTION_MANAGEMENT_ADMIN or in another tenant, 404 for an unknown option or tenant, 422
/// for an invalid body.
pub async fn update_editable(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_options(&platform, &path.0)?;
    if caller.tenant.as_str() != MANAGEMENT {
        return Err(ApiError::forbidden_because(
            "only tenant management may set whether an option is editable",
        ));
    }
    head.check_mode()?;
    let query = Query::parse(head.query_string());
    let tenant = match query.get("tenantId") {
        Some(id) => TenantId::known(id)?,
        None => caller.tenant.clone(),
    };
    let (database, name) = (platform.database(), known_name(&path.0, &path.1)?);
    platform_store::tenancy::tenants::options::get_option(database, &tenant, name.clone()).await?;
    let (media_type, editable) = body.parse(&["option"], Editable::parse).await?;
    let option = platform_store::tenancy::tenants::options::set_editable(
        database,
        &administration.in_log_of(&tenant),
        name,
        editable,
    )
    .await?;
    Ok(reply::updated(&head, media_type, &Arc::new(option), &head.links()))
}

/// `GET /tenant/system/options`: returns the public settings of the server.
///
/// # Errors
/// 403 without ROLE_OPTION_MANAGEMENT_READ, 422 for an invalid parameter.
pub async fn list_system(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::OPTION_MANAGEMENT_READ)?;
    let listing = Listing::of(&head, "optionCollection")?;
    let page = listing.request.cut(system_options(&platform), |option| option.key);
    listing.respond("options", &page)
}

/// `GET /tenant/system/options/<category>/<key>`: returns a public setting.
///
/// # Errors
/// 403 without ROLE_OPTION_MANAGEMENT_READ, 404 for an unknown setting.
pub async fn get_system(
    caller: Caller,
    head: RequestHead,
    path: web::Path<(String, String)>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::OPTION_MANAGEMENT_READ)?;
    let media_type = head.accepted("option")?;
    let mut all = system_options(&platform).into_iter();
    match all.find(|option| option.category == path.0 && option.key == path.1) {
        Some(option) => Ok(reply::found(media_type, &option, &head.links())),
        None => Err(unknown(&path.0, &path.1).into()),
    }
}

/// Returns facts about this server that clients would otherwise have to find out by trial.
fn system_options(platform: &Platform) -> Vec<SystemOption> {
    let option = |category, key, value: &dyn std::fmt::Display| SystemOption {
        category,
        key,
        value: value.to_string(),
    };
    vec![
        option("paging", "default.pageSize", &DEFAULT_PAGE_SIZE),
        option("paging", "max.pageSize", &MAX_PAGE_SIZE),
        option("password", "max.length", &32),
        option("password", "min.length", &6),
        option("request", "max.bytes", &platform.limits().body_bytes),
        option("system", "version", &env!("CARGO_PKG_VERSION")),
        option("two-factor-authentication", "enabled", &false),
    ]
}

/// Writes an option. Returns it as it may be shown, and whether it is new.
async fn write(
    platform: &Platform,
    secret_key: &SecretKey,
    administration: &Administration,
    new: NewTenantOption,
) -> Result<(Arc<TenantOption>, bool)> {
    let NewTenantOption { name, value } = new;
    let option = TenantOption::shown(name.clone(), value.clone());
    let changes = [(name.clone(), set(secret_key, &administration.tenant, &name, value)?)];
    let before = platform_store::tenancy::tenants::options::write_options(
        platform.database(),
        administration,
        &changes,
    )
    .await;
    Ok((Arc::new(option), !before.map_err(not_editable)?.contains(&name)))
}

/// Returns the change that stores a value: a secret is encrypted and bound to its option, and the placeholder
/// of a secret keeps the stored one (Z-05).
///
/// # Errors
/// `Invalid` for a key of tokens with which no token can be verified (T-09a).
fn set(secret_key: &SecretKey, tenant: &TenantId, name: &OptionName, value: String) -> Result<OptionChange> {
    if name.category == TOKEN_PUBLIC_KEY {
        check_public_key(&name.key, &value)?;
    }
    Ok(match name.is_secret() {
        true if value == ENCRYPTED => OptionChange::Keep,
        true => {
            let place = [tenant.as_str(), &name.category, &name.key];
            OptionChange::Set(secret_key.sealing().seal(place, &value))
        }
        false => OptionChange::Set(value),
    })
}

async fn category(platform: &Platform, tenant: &TenantId, name: &str) -> Result<Arc<OptionCategory>> {
    let options =
        platform_store::tenancy::tenants::options::list_category(platform.database(), tenant, name).await?;
    Ok(Arc::new(OptionCategory(options)))
}

/// Parses the name in a path; an invalid name belongs to no option.
fn known_name(category: &str, key: &str) -> Result<OptionName> {
    Ok(OptionName::parse(category, key).map_err(|_| unknown(category, key))?)
}

fn unknown(category: &str, key: &str) -> Error {
    let name = format!("{category}/{key}");
    Error::not_found(Noun::Option, name.chars().take(600).collect::<String>())
}

fn not_editable(error: Error) -> ApiError {
    match error {
        Error::Forbidden => ApiError::forbidden_because("the option is not editable"),
        other => other.into(),
    }
}
