//! `/tenant/tenants/<tenant>/trusted-certificates`: the certificate authorities whose certificates log in the devices
//! of a tenant (docs/rules.md#c-29). Such an authority can act as any device, and may register devices, so changing
//! authorities takes the right to administer users.

use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_front::secrets::password;
use platform_model::devices::trusted_certificate::{
    AuthorityPatch, Fingerprint, NewTrustedCertificate, Possession, TrustedCertificate, parse_signed_code,
};
use platform_model::error::{Error, Noun};
use platform_model::id::{MANAGEMENT, TenantId};
use platform_model::timestamp::Timestamp;
use platform_model::users::user::{Administration, UserAuthority};
use platform_store::devices::certificates::authorities::{self, NewAuthority};

use crate::auth::Caller;
use crate::certificates::authority::{check_proof, parse_authority};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// The media type of an authority, without its prefix.
pub(super) const TYPE: &str = "trustedCertificate";
/// The time in which a code can be signed.
const CODE_VALID: Duration = Duration::from_secs(24 * 3600);

/// The authority that a path names: its tenant, and its fingerprint.
pub(super) type Named = web::Path<(String, String)>;

/// Returns the tenant of a path whose certificates the caller may read.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ, and for another tenant; 404 for an unknown tenant.
pub(super) async fn readable(caller: &Caller, platform: &Platform, tenant: &str) -> Result<TenantId> {
    match caller.reads_users(platform, tenant).await? {
        (tenant, UserAuthority::Everyone) => Ok(tenant),
        _ => Err(ApiError::forbidden()),
    }
}

pub(super) fn fingerprint(text: &str) -> Result<Fingerprint> {
    Ok(Fingerprint::parse_of_path(text, Noun::TrustedCertificate)?)
}

/// Returns the authority of a path that the caller may change, with the authorization.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, and for another tenant; 404 for a fingerprint that is none; 422 for an
/// unknown processing mode.
pub(super) async fn changeable(
    caller: &Caller,
    head: &RequestHead,
    path: &Named,
    platform: &Platform,
) -> Result<(Administration, Fingerprint)> {
    let by = caller.administers_groups(platform, &path.0).await?;
    head.check_mode()?;
    Ok((by, fingerprint(&path.1)?))
}

/// `GET /tenant/tenants/<tenant>/trusted-certificates`: returns a page of the authorities in the order of their
/// creation.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ, and for another tenant; 422 for an invalid parameter.
pub async fn list(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let tenant = readable(&caller, &platform, &path).await?;
    let listing = Listing::of(&head, "trustedCertificateCollection")?;
    let page = authorities::list_authorities(platform.database(), &tenant, &listing.request).await?;
    listing.respond("certificates", &page)
}

/// `POST /tenant/tenants/<tenant>/trusted-certificates`: stores an authority. It is used when the tenant has proven
/// that it has the private key; see [`issue_code`].
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, and for another tenant; 409 for a certificate that the tenant has already,
/// and for too many; 422 for an invalid body and anything but the valid certificate of an authority.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let by = caller.administers_groups(&platform, &path).await?;
    head.check_mode()?;
    let (media_type, new) = body.parse(&[TYPE], NewTrustedCertificate::parse).await?;
    let facts = parse_authority(&new.pem)?;
    let draft =
        NewAuthority { facts: &facts, settings: &new.settings, id_source: new.id_source, sealed_key: None };
    let created = authorities::insert_authority(platform.database(), &by, draft).await?;
    let links = head.links();
    let location = links.trusted_certificate(&created.tenant, created.facts.fingerprint.as_str());
    Ok(reply::created(&head, media_type, location, &Arc::new(created), &links))
}

/// `GET /tenant/tenants/<tenant>/trusted-certificates/<fingerprint>`: returns an authority.
///
/// # Errors
/// 403 as for [`list`], 404 for an unknown authority.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: Named,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let tenant = readable(&caller, &platform, &path.0).await?;
    let media_type = head.accepted(TYPE)?;
    let found = authorities::get_authority(platform.database(), &tenant, &fingerprint(&path.1)?).await?;
    Ok(reply::found(media_type, &found, &head.links()))
}

/// `PUT /tenant/tenants/<tenant>/trusted-certificates/<fingerprint>`: changes the name, the status, whether devices
/// register by certificate, and the validity of issued certificates. The devices of an authority that is disabled lose
/// their sessions.
///
/// # Errors
/// 403 as for [`create`], 404 for an unknown authority, 422 for an invalid body.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: Named,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (by, fingerprint) = changeable(&caller, &head, &path, &platform).await?;
    let (media_type, patch) = body.parse(&[TYPE], AuthorityPatch::parse).await?;
    let updated = authorities::update_authority(platform.database(), &by, &fingerprint, patch).await?;
    Ok(reply::updated(&head, media_type, &Arc::new(updated), &head.links()))
}

/// `DELETE /tenant/tenants/<tenant>/trusted-certificates/<fingerprint>`: deletes an authority, and what is known about
/// the certificates that it signed. Their devices lose their sessions.
///
/// # Errors
/// 403 as for [`create`], 404 for an unknown authority.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: Named,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (by, fingerprint) = changeable(&caller, &head, &path, &platform).await?;
    authorities::delete_authority(platform.database(), &by, &fingerprint).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /tenant/tenants/<tenant>/trusted-certificates-pop/<fingerprint>/verification-code`: issues a code that the
/// owner of the authority signs with its private key, within a day.
///
/// # Errors
/// 403 as for [`create`], 404 for an unknown authority.
pub async fn issue_code(
    caller: Caller,
    head: RequestHead,
    path: Named,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let by = caller.administers_groups(&platform, &path.0).await?;
    head.check_mode()?;
    let media_type = head.accepted(TYPE)?;
    let (fingerprint, code) = (fingerprint(&path.1)?, password::generate());
    let with_code =
        authorities::set_code(platform.database(), &by.tenant, &fingerprint, &code, CODE_VALID).await?;
    Ok(reply::found(media_type, &with_code, &head.links()))
}

/// `POST /tenant/tenants/<tenant>/trusted-certificates-pop/<fingerprint>/pop`: proves by the signature of the code that
/// the tenant has the private key. The authority is used from now on.
///
/// # Errors
/// 403 as for [`create`], 404 for an unknown authority, 409 when another tenant has proven to have the same key, 422
/// for another signature and without a code that is still valid.
pub async fn prove(
    caller: Caller,
    head: RequestHead,
    path: Named,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let by = caller.administers_groups(&platform, &path.0).await?;
    head.check_mode()?;
    let (media_type, signature) = body.parse(&[TYPE], parse_signed_code).await?;
    let (database, fingerprint) = (platform.database(), fingerprint(&path.1)?);
    let authority = authorities::get_authority(database, &by.tenant, &fingerprint).await?;
    if let Some(code) = code_to_sign(&authority)? {
        check_proof(&authority.facts, code, &signature)?;
    }
    let proven = authorities::prove(database, &by, &fingerprint).await?;
    Ok(reply::found(media_type, &proven, &head.links()))
}

/// Returns the code of an authority; `None` if nothing is left to prove.
fn code_to_sign(authority: &TrustedCertificate) -> Result<Option<&str>> {
    match &authority.possession {
        Possession::Proven => Ok(None),
        Possession::Unproven(Some((code, until))) if until.instant() > Timestamp::now().instant() => Ok(Some(code)),
        Possession::Unproven(_) => Err(Error::Invalid(
            "There is no code to sign; request one with POST …/trusted-certificates-pop/<fingerprint>/verification-code"
                .into(),
        )
        .into()),
    }
}

/// `POST /tenant/tenants/<tenant>/trusted-certificates-pop/<fingerprint>/confirmed`: an operator vouches for a tenant
/// that cannot sign a code, because the manufacturer of its devices has the private key.
///
/// # Errors
/// 403 for callers of another tenant than `management` and without ROLE_USER_MANAGEMENT_ADMIN; otherwise as for
/// [`prove`].
pub async fn confirm(
    caller: Caller,
    head: RequestHead,
    path: Named,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let by = caller.administers_groups(&platform, &path.0).await?;
    if caller.tenant.as_str() != MANAGEMENT {
        return Err(ApiError::forbidden_because("only users of tenant management vouch for others"));
    }
    head.check_mode()?;
    let media_type = head.accepted(TYPE)?;
    let proven = authorities::prove(platform.database(), &by, &fingerprint(&path.1)?).await?;
    Ok(reply::found(media_type, &proven, &head.links()))
}
