//! `/devicecontrol/newDeviceRequests` (docs/rules.md#device-registration; N-01 to N-07, X-12, X-13).

use std::sync::Arc;

use actix_web::HttpResponse;
use percent_encoding::percent_decode_str;
use platform_actors::Platform;
use platform_front::secrets::password::SecretKey;
use platform_model::device_id::DeviceId;
use platform_model::devices::new_device_request::{DeviceToRegister, RequestStatus};
use platform_model::origin::is_device_user;
use platform_model::role;
use platform_store::devices::new_requests;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::compatibility::ClientCompatibility;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// `POST /devicecontrol/newDeviceRequests`: registers a device, which may poll for its credentials from then
/// on.
///
/// # Errors
/// 403 without ROLE_DEVICE_CONTROL_ADMIN; 409 for a device that has a request already, in this or another
/// tenant (N-07), and for a device whose user exists with more rights than a device has (N-08a); 422 for an
/// invalid body or an unknown group.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    caller.require(role::DEVICE_CONTROL_ADMIN)?;
    head.check_mode()?;
    let (media_type, new) = body.parse(&["newDeviceRequest"], DeviceToRegister::parse).await?;

    let (database, owner) = (platform.database(), &*caller.user);
    let hash = new.one_time_password.as_ref().map(|password| secret_key.hash(password));
    let (tenant, hash) = (&caller.tenant, hash.as_deref());
    let request = new_requests::insert_new_device_request(database, tenant, &new, hash, owner).await?;

    let links = head.links();
    let location = links.new_device_request(request.id.as_str());
    Ok(reply::created(&head, media_type, location, &Arc::new(request), &links))
}

/// `GET /devicecontrol/newDeviceRequests`: returns a page of requests in the order they were made.
///
/// # Errors
/// 403 without ROLE_DEVICE_CONTROL_READ, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::DEVICE_CONTROL_READ)?;
    let listing = Listing::of(&head, "newDeviceRequestCollection")?;
    let database = platform.database();
    let page = new_requests::list_new_device_requests(database, &caller.tenant, &listing.request).await?;
    listing.respond("newDeviceRequests", &page)
}

/// `GET /devicecontrol/newDeviceRequests/<id>`: returns a request.
///
/// # Errors
/// 403 without ROLE_DEVICE_CONTROL_READ, 404 for an unknown request and for one whose credentials are in use
/// (N-08).
pub async fn get(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::DEVICE_CONTROL_READ)?;
    let media_type = head.accepted("newDeviceRequest")?;
    let (database, id) = (platform.database(), named(&head)?);
    let request = new_requests::get_new_device_request(database, &caller.tenant, &id).await?;
    Ok(reply::found(media_type, &request, &head.links()))
}

/// `PUT /devicecontrol/newDeviceRequests/<id>`: accepts a device.
///
/// # Errors
/// 403 without ROLE_DEVICE_CONTROL_READ or ROLE_DEVICE_CONTROL_ADMIN, and always for devices (X-12a);
/// 404 for an unknown request, 422 without a status and for a backward change (N-03).
pub async fn update(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require_any(&[role::DEVICE_CONTROL_READ, role::DEVICE_CONTROL_ADMIN])?;
    if is_device_user(&caller.user) {
        return Err(ApiError::forbidden_because("devices cannot accept devices"));
    }
    head.check_mode()?;
    let (database, id) = (platform.database(), named(&head)?);
    new_requests::get_new_device_request(database, &caller.tenant, &id).await?;
    let (media_type, status) = body.parse(&["newDeviceRequest"], RequestStatus::parse_patch).await?;
    let request = new_requests::update_status(database, &caller.tenant, &id, status).await?;
    Ok(reply::updated(&head, media_type, &Arc::new(request), &head.links()))
}

/// `DELETE /devicecontrol/newDeviceRequests/<id>`: deletes a request. Returns 200 without a body, or
/// 204 with `--client-compatibility` (C-20).
///
/// # Errors
/// 403 without ROLE_DEVICE_CONTROL_ADMIN, 404 for an unknown request.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
    compatibility: Component<ClientCompatibility>,
) -> Result<HttpResponse> {
    caller.require(role::DEVICE_CONTROL_ADMIN)?;
    head.check_mode()?;
    let (database, id) = (platform.database(), named(&head)?);
    new_requests::delete_new_device_request(database, &caller.tenant, &id).await?;
    Ok(if compatibility.is_on() { HttpResponse::NoContent().finish() } else { HttpResponse::Ok().finish() })
}

/// Parses the device id from the path as it was sent, because it may contain an encoded slash (N-05).
fn named(head: &RequestHead) -> Result<DeviceId> {
    let segment = head.path().rsplit('/').next().unwrap_or_default();
    // An id that is not UTF-8 belongs to no device; the error shows it as it was sent.
    let decoded = percent_decode_str(segment).decode_utf8().unwrap_or(segment.into());
    Ok(DeviceId::parse_of_path(&decoded)?)
}
