//! `/devicecontrol/deviceCredentials`: how a device gets its credentials (docs/rules.md#device-registration;
//! N-01, N-02, N-06, N-08, N-09).

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use platform_actors::Platform;
use platform_front::secrets::password::{self, SecretKey};
use platform_front::secrets::sealing::place_of_device_credentials;
use platform_model::device_id::DeviceId;
use platform_model::devices::device_credentials::DeviceCredentials;
use platform_model::devices::new_device_request::device_id;
use platform_model::error::{Error, Noun};
use platform_model::id::{MANAGEMENT, TenantId};
use platform_model::links::encode;
use platform_model::role;
use platform_store::devices::credentials::{self, Admitted, Issued, NewPassword};

use crate::auth::{AnyCaller, Caller, RateLimit, RequestSource};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::{RequestHead, client_address};

const JSON: &str = "application/json;charset=UTF-8";

/// The rate limit for devices that request their credentials, by address (E-06).
pub struct CredentialPolls(pub RateLimit);

/// `POST /devicecontrol/deviceCredentials`: returns 201 with the credentials of a device that was registered
/// and accepted. The response has a body whatever `Accept` says, because the credentials are its only
/// purpose, and it is JSON for a client that accepts something else (G-03a).
///
/// # Errors
/// 403 for everyone without ROLE_DEVICE_BOOTSTRAP (N-09); 404 until the device is registered and accepted,
/// and once its credentials are in use (N-08); 409 when its user exists already with more rights than a
/// device has (N-08a); 422 for an invalid body; 429 for an address that polls too often (E-06).
pub async fn create(
    AnyCaller(caller): AnyCaller,
    request: HttpRequest,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
    polls: Component<CredentialPolls>,
) -> Result<HttpResponse> {
    caller.require(role::DEVICE_BOOTSTRAP)?;
    polls.0.admit(RequestSource::of(client_address(&request)))?;
    head.check_content_type(&["deviceCredentials"])?;
    let id = device_id(&mut body.json(platform.limits().body_bytes).await?)?;

    let credentials = collect(&platform, &secret_key, &caller, id).await?;

    let links = head.links();
    let media_type = head.accepted("deviceCredentials").unwrap_or_else(|_| JSON.to_owned());
    let location = links.device_credentials(credentials.id.as_str());
    Ok(HttpResponse::Created()
        .insert_header((header::LOCATION, location))
        .insert_header((header::CONTENT_TYPE, media_type))
        // No cache on the way may store a password.
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(encode(&credentials, &links)))
}

/// `GET /devicecontrol/deviceCredentials/<id>`: returns the credentials that a POST returned, as long as a
/// POST would return them again (N-08). It only reads: it creates no credentials and does not mark the device
/// as seen.
///
/// # Errors
/// The errors of [`create`], and 404 for a device that has no credentials.
pub async fn get(
    AnyCaller(caller): AnyCaller,
    request: HttpRequest,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
    polls: Component<CredentialPolls>,
) -> Result<HttpResponse> {
    caller.require(role::DEVICE_BOOTSTRAP)?;
    polls.0.admit(RequestSource::of(client_address(&request)))?;
    let media_type = head.accepted("deviceCredentials")?;
    let id = DeviceId::parse_of_path(&path)?;
    let issued = credentials::find(platform.database(), within(&caller), &id).await?;
    let credentials = reveal(&secret_key, issued, id)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, media_type))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(encode(&credentials, &head.links())))
}

/// Returns the tenant to which the caller's polls are restricted, if any: a bootstrap user of tenant
/// `management` polls for devices of all tenants, one of another tenant for its own devices (N-06).
fn within(caller: &Caller) -> Option<&TenantId> {
    Some(&caller.tenant).filter(|tenant| tenant.as_str() != MANAGEMENT)
}

/// Returns the credentials of a device: created at the first poll after it was accepted, and the same at
/// later polls (N-08).
///
/// # Errors
/// The errors of [`create`].
async fn collect(
    platform: &Platform,
    secret_key: &SecretKey,
    caller: &Caller,
    id: DeviceId,
) -> Result<DeviceCredentials> {
    match credentials::poll(platform.database(), within(caller), &id).await? {
        Admitted::Issued(issued) => reveal(secret_key, issued, id),
        Admitted::Accepted(tenant) => {
            let password = issue(platform, secret_key, &tenant, &id).await?;
            Ok(DeviceCredentials { id, tenant, password })
        }
    }
}

/// Returns the credentials that a device was given before. They are invalid if its user was deleted or its
/// password changed since.
fn reveal(
    secret_key: &SecretKey,
    Issued { tenant, sealed, hash }: Issued,
    id: DeviceId,
) -> Result<DeviceCredentials> {
    let password = open(secret_key, &tenant, &id, &sealed);
    let current = password.filter(|password| hash.is_some_and(|hash| secret_key.verifies(password, &hash)));
    let password = current.ok_or_else(|| Error::not_found(Noun::NewDeviceRequest, &id))?;
    Ok(DeviceCredentials { id, tenant, password })
}

/// Creates credentials, unless a concurrent poll did.
async fn issue(
    platform: &Platform,
    secret_key: &SecretKey,
    tenant: &TenantId,
    id: &DeviceId,
) -> Result<String> {
    let password = password::generate();
    let new = NewPassword {
        hash: &secret_key.hash(&password),
        sealed: &secret_key.sealing().seal(place_of_device_credentials(tenant, id), &password),
        kept: platform.limits().device_credentials,
    };
    let sealed = credentials::issue(platform.database(), tenant, id, new).await?;
    Ok(open(secret_key, tenant, id, &sealed).ok_or_else(|| Error::not_found(Noun::NewDeviceRequest, id))?)
}

fn open(secret_key: &SecretKey, tenant: &TenantId, id: &DeviceId, sealed: &str) -> Option<String> {
    secret_key.sealing().open(place_of_device_credentials(tenant, id), sealed)
}
