//! `/application/currentApplication`: what a microservice reads and changes about itself (W-10 to W-13), and
//! the bootstrap user it does that as.

use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_front::secrets::password::SecretKey;
use platform_model::applications::application::{ApplicationPatch, ApplicationUser, Secret, UserPurpose};
use platform_model::applications::application_credentials::ApplicationCredentials;
use platform_model::error::{Error, Noun};
use platform_model::id::{ApplicationId, TenantId};
use platform_model::limits::MAX_PAGE_SIZE;
use platform_model::page::Page;
use platform_model::role;
use platform_model::tenancy::application_settings::{Options, SettingsPlan};
use platform_model::tenancy::tenant_option::OptionName;
use platform_store::applications::changes::ChangedSecrets;
use platform_store::applications::users::StoredUser;

use crate::api::applications::{self, ApplicationViews};
use crate::auth::{AnyCaller, Caller};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// `GET /application/applications/<id>/bootstrapUser`: returns the credentials of a microservice, as often as
/// its owner requests them (W-10).
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN and for an application of another tenant; 404 for an
/// application that is unknown, not visible, or not a microservice.
pub async fn get_bootstrap_user(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    let media_type = head.accepted("user")?;
    let id = applications::own(&caller, &platform, &path).await?.id;
    let user = platform_store::applications::users::find_bootstrap_user(platform.database(), id).await?;
    let user = user.ok_or_else(|| Error::not_found(Noun::Application, format!("{id}/bootstrapUser")))?;
    let credentials = credentials(&secret_key, id, UserPurpose::Bootstrap, user)?;
    Ok(reply::confidential(reply::found(media_type, &credentials, &head.links())))
}

/// `GET /application/currentApplication`: returns the calling microservice, with its key, because its
/// bootstrap user belongs to the owner's tenant.
///
/// # Errors
/// 403 for everyone except bootstrap users of microservices.
pub async fn get(
    caller: AnyCaller,
    head: RequestHead,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    let ApplicationUser { application, .. } = acting(&caller, &[UserPurpose::Bootstrap])?;
    let media_type = head.accepted("application")?;
    let database = platform.database();
    let seen = platform_store::applications::see_application(database, &caller.0.tenant, application).await?;
    Ok(reply::found(media_type, &views.show(seen), &head.links()))
}

/// `PUT /application/currentApplication`: changes name, availability, `requiredRoles`, `roles` and
/// `externalUrl`, as far as they were sent; other members are ignored (W-13). Service users get the required
/// roles at once (W-11).
///
/// # Errors
/// 403 for everyone except bootstrap users of microservices; 409 when the name is taken; 422 for an invalid
/// body.
pub async fn update(
    caller: AnyCaller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
) -> Result<HttpResponse> {
    let ApplicationUser { application, .. } = acting(&caller, &[UserPurpose::Bootstrap])?;
    head.check_mode()?;
    let (media_type, sent) = body.parse(&["application"], ApplicationPatch::parse).await?;
    let patch = ApplicationPatch {
        name: sent.name,
        availability: sent.availability,
        required_roles: sent.required_roles,
        roles: sent.roles,
        external_url: sent.external_url,
        ..ApplicationPatch::default()
    };
    let (database, tenant) = (platform.database(), &caller.0.tenant);
    let seen = platform_store::applications::changes::update_application(
        database,
        tenant,
        application,
        &patch,
        &ChangedSecrets::default(),
    )
    .await?;
    caller.0.log_change_of_rights("Application update", application);
    let shown = views.show(seen);
    Ok(reply::updated(&head, media_type, &Arc::new(shown), &head.links()))
}

/// `GET /application/currentApplication/subscriptions`, also `…/subscription`: returns a page of the
/// microservice's service users, one per subscribed tenant, ordered by tenant. The default `pageSize` is the
/// largest possible, so that a service that does not page sees its subscribers.
///
/// # Errors
/// 403 for everyone except bootstrap users of microservices, 422 for an invalid parameter.
pub async fn list_subscriptions(
    caller: AnyCaller,
    head: RequestHead,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    let ApplicationUser { application, .. } = acting(&caller, &[UserPurpose::Bootstrap])?;
    let mut listing = Listing::of(&head, "applicationUserCollection")?;
    if listing.query.get("pageSize").is_none() {
        listing.request.size = MAX_PAGE_SIZE;
    }
    let database = platform.database();
    let page =
        platform_store::applications::users::list_service_users(database, application, &listing.request)
            .await?;
    let of_user = |user| credentials(&secret_key, application, UserPurpose::Service, user);
    let members = page.members.into_iter().map(of_user).collect::<Result<_>>()?;
    let page = Page { members, next: page.next, count: page.count };
    listing.respond("users", &page).map(reply::confidential)
}

/// `GET /application/currentApplication/settings`: returns a flat object of the options that the caller's
/// tenant set and of defaults, with secrets in clear text (W-12, Z-05). The bootstrap user reads the owner's
/// settings, a service user those of its tenant.
///
/// # Errors
/// 403 for everyone except the users of microservices.
pub async fn get_settings(
    caller: AnyCaller,
    head: RequestHead,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    let user = acting(&caller, &[UserPurpose::Bootstrap, UserPurpose::Service])?;
    let media_type = head.accepted_json()?;
    let application =
        platform_store::applications::get_application(platform.database(), user.application).await?;
    let plan = SettingsPlan::of(&application)?;
    let own = options(&platform, &secret_key, &caller.0.tenant, &plan).await?;
    let settings = match user.purpose {
        UserPurpose::Bootstrap => plan.of_owner(own),
        UserPurpose::Service if plan.asks_owner() => {
            plan.of_subscriber(own, options(&platform, &secret_key, &application.owner, &plan).await?)
        }
        UserPurpose::Service => plan.of_subscriber(own, Options::new()),
    };
    let json =
        serde_json::to_vec(&settings).expect("writing to memory does not fail and all keys are strings");
    let settings = HttpResponse::Ok().insert_header((header::CONTENT_TYPE, media_type)).body(json);
    Ok(reply::confidential(settings))
}

/// Returns the calling microservice, and whether its bootstrap user or a service user calls.
///
/// # Errors
/// `Forbidden` for any other user.
fn acting(caller: &AnyCaller, purposes: &[UserPurpose]) -> Result<ApplicationUser> {
    let user = caller.0.application.filter(|user| purposes.contains(&user.purpose));
    user.ok_or_else(|| {
        if purposes.contains(&UserPurpose::Service) {
            ApiError::forbidden_because("only users of microservices may do this")
        } else {
            ApiError::forbidden_because("only bootstrap users of microservices may do this")
        }
    })
}

/// Returns the options that a tenant set in the category of a microservice, with decrypted secrets.
async fn options(
    platform: &Platform,
    secret_key: &SecretKey,
    tenant: &TenantId,
    plan: &SettingsPlan,
) -> Result<Options> {
    let stored =
        platform_store::tenancy::tenants::options::list_stored(platform.database(), tenant, &plan.category)
            .await?;
    let open = |(key, value): (String, String)| {
        let name = OptionName { category: plan.category.clone(), key };
        if !name.is_secret() {
            return Some((name.key, value));
        }
        let opened = secret_key.sealing().open([tenant.as_str(), &name.category, &name.key], &value);
        if opened.is_none() {
            tracing::warn!(tenant.id = %tenant, option.name = %name, "a secret option cannot be opened");
        }
        Some((name.key, opened?))
    };
    Ok(stored.into_iter().filter_map(open).collect())
}

fn credentials(
    secret_key: &SecretKey,
    application: ApplicationId,
    purpose: UserPurpose,
    user: StoredUser,
) -> Result<ApplicationCredentials> {
    let StoredUser { tenant, name, sealed_password } = user;
    let password = secret_key.open_user_secret(&tenant, application, purpose, &sealed_password);
    let password = password
        .ok_or_else(|| Error::unavailable("the password of a microservice was sealed with another key"))?;
    Ok(ApplicationCredentials { tenant, name, password: Secret::new(password) })
}
