//! `/tenant/tenants/<tenant>/trusted-certificates/<fingerprint>/revoked-certificates`: certificates that an authority
//! has signed and that are not accepted any more (docs/rules.md#c-31).

use actix_web::HttpResponse;
use platform_actors::Platform;
use platform_model::devices::device_certificate::Revocation;
use platform_store::devices::certificates::authorities::get_authority;
use platform_store::devices::certificates::revocations::{self, Revoked};
use time::OffsetDateTime;

use super::trusted_certificates::{Named, changeable, fingerprint, readable};
use crate::auth::Caller;
use crate::certificates::revoked_by;
use crate::http::RequestHead;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::paging::Listing;

/// The most bytes of a list of revoked certificates.
const LIST_BYTES: usize = 8 << 20;

/// `GET …/revoked-certificates`: returns a page of the revoked certificates in the order of their revocation.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ, and for another tenant; 404 for an unknown authority; 422 for an invalid
/// parameter.
pub async fn list(
    caller: Caller,
    head: RequestHead,
    path: Named,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let tenant = readable(&caller, &platform, &path.0).await?;
    let listing = Listing::of(&head, "revokedCertificateCollection")?;
    let (database, fingerprint) = (platform.database(), fingerprint(&path.1)?);
    let page = revocations::list_revoked(database, &tenant, &fingerprint, &listing.request).await?;
    listing.respond("revokedCertificates", &page)
}

/// `POST …/revoked-certificates`: revokes the certificate with a serial number, which need not have been used. When the
/// response is sent, the sessions of its device have ended here; other servers follow within the latency of the bus.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, and for another tenant; 404 for an unknown authority; 422 for an invalid
/// body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    path: Named,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (by, fingerprint) = changeable(&caller, &head, &path, &platform).await?;
    let (_, Revocation { serial, reason }) = body.parse(&["revokedCertificate"], Revocation::parse).await?;
    let revoked = Revoked { serial, time: OffsetDateTime::now_utc(), reason };
    revocations::revoke(platform.database(), &by, &fingerprint, &[revoked]).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `PUT …/crl`: revokes all certificates that a list of the authority names (RFC 5280), in PEM or DER. Certificates
/// that an earlier list named stay revoked.
///
/// # Errors
/// The errors of [`create`]; 413 for more than 8 MiB; 422 for anything but a list that the authority signed.
pub async fn upload(
    caller: Caller,
    head: RequestHead,
    path: Named,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let (by, fingerprint) = changeable(&caller, &head, &path, &platform).await?;
    let database = platform.database();
    let authority = get_authority(database, &by.tenant, &fingerprint).await?;
    let list = body.read(LIST_BYTES).await?;
    let revoked = revoked_by(&authority.facts, &list)?;
    revocations::revoke(database, &by, &fingerprint, &revoked).await?;
    Ok(HttpResponse::NoContent().finish())
}
