//! `/tenant/tenants/<tenant>/device-certificates`: the certificates that have logged in a device of the tenant, or that
//! the platform has issued to one (docs/rules.md#c-31).

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::devices::device_certificate::parse_reason;
use platform_model::devices::trusted_certificate::Fingerprint;
use platform_model::error::Noun;
use platform_store::devices::certificates::device_certificates;

use super::trusted_certificates::{Named, readable};
use crate::auth::Caller;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// `GET /tenant/tenants/<tenant>/device-certificates`: returns a page of the certificates in the order in which the
/// server learned of them. `user` selects those of one device.
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
    let listing = Listing::of(&head, "deviceCertificateCollection")?;
    listing.query.only_filters(&["user"])?;
    let (database, user) = (platform.database(), listing.query.get("user"));
    let page = device_certificates::list(database, &tenant, user, &listing.request).await?;
    listing.respond("deviceCertificates", &page)
}

/// `GET /tenant/tenants/<tenant>/device-certificates/<fingerprint>`: returns a certificate.
///
/// # Errors
/// 403 as for [`list`], 404 for a certificate that no device has used.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: Named,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let tenant = readable(&caller, &platform, &path.0).await?;
    let media_type = head.accepted("deviceCertificate")?;
    let found = device_certificates::get(platform.database(), &tenant, &named(&path)?).await?;
    Ok(reply::found(media_type, &found, &head.links()))
}

/// `DELETE /tenant/tenants/<tenant>/device-certificates/<fingerprint>`: revokes a certificate. When the response is
/// sent, the sessions of its device have ended here; other servers follow within the latency of the bus. `reason` is
/// stored with the serial number.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, and for another tenant; 404 as for [`get`]; 422 for an invalid reason.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: Named,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let by = caller.administers_groups(&platform, &path.0).await?;
    head.check_mode()?;
    let reason = Query::parse(head.query_string()).get("reason").map(ToOwned::to_owned);
    let reason = reason.map(parse_reason).transpose()?;
    device_certificates::revoke(platform.database(), &by, &named(&path)?, reason).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn named(path: &Named) -> Result<Fingerprint> {
    Ok(Fingerprint::parse_of_path(&path.1, Noun::DeviceCertificate)?)
}
