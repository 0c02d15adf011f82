//! `/devicecontrol/deviceCredentials`: how a device gets in (docs/rules.md#device-registration; N-01, N-02, N-06, N-08,
//! N-09).

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use platform_actors::model::body::Body;
use platform_actors::model::device_credentials::DeviceCredentials;
use platform_actors::model::id::TenantId;
use platform_actors::model::links::encode;
use platform_actors::model::new_device_request::{DeviceId, device_id};
use platform_actors::model::role;
use platform_actors::model::tenant::MANAGEMENT;
use platform_actors::store::device_credentials::{self, Admitted, Issued, NewPassword};
use platform_actors::{Error, Noun};

use crate::auth::{AnyCaller, Caller, Source, password};
use crate::http::body::Unread;
use crate::http::error::Result;
use crate::http::{Wire, client_address};
use crate::server::Edge;

/// `POST /devicecontrol/deviceCredentials`: 201 with the credentials of a device that somebody registered and accepted. The
/// body is always given, with or without `Accept`: there is nothing else to answer a device.
///
/// # Errors
/// 403 for everybody without ROLE_DEVICE_BOOTSTRAP (N-09); 404 until the device is registered and accepted, and when its
/// credentials are in use (N-08); 409 when its user is there and holds more than a device does (N-08a); 422 for a wrong body; 429 for an address that asks too often (E-06).
pub async fn create(
    AnyCaller(caller): AnyCaller,
    request: HttpRequest,
    wire: Wire,
    body: Unread,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    caller.require(role::DEVICE_BOOTSTRAP)?;
    edge.credential_polls.admit(Source::of(client_address(&request)))?;
    let media_type = wire.accepted("deviceCredentials")?;
    wire.check_content_type(&["deviceCredentials"])?;
    let mut body: Body = body.json(edge.limits().body_bytes).await?;
    let id = device_id(&mut body)?;

    let credentials = collect(&edge, &caller, id).await?;

    let links = wire.links();
    let location = links.device_credentials(credentials.id.as_str());
    Ok(HttpResponse::Created()
        .insert_header((header::LOCATION, location))
        .insert_header((header::CONTENT_TYPE, media_type))
        // No cache on the way may keep a password.
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(encode(&credentials, &links)))
}

/// `GET /devicecontrol/deviceCredentials/<id>`: the credentials that a POST gave, as long as it would give them again (N-08). Only
/// reads: it notes no device as seen and makes no credentials.
///
/// # Errors
/// As [`create`], and 404 for a device that was given none.
pub async fn get(
    AnyCaller(caller): AnyCaller,
    request: HttpRequest,
    wire: Wire,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    caller.require(role::DEVICE_BOOTSTRAP)?;
    edge.credential_polls.admit(Source::of(client_address(&request)))?;
    let media_type = wire.accepted("deviceCredentials")?;
    let id = DeviceId::parse_of_path(&path)?;
    let issued = device_credentials::find(edge.platform.database(), within(&caller), &id).await?;
    let credentials = reveal(&edge, issued, id)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, media_type))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(encode(&credentials, &wire.links())))
}

/// The only tenant of whose devices a caller may ask: a bootstrap user of the installation's tenant asks for devices of all
/// tenants, one of another tenant for its own (N-06).
fn within(caller: &Caller) -> Option<&TenantId> {
    Some(&caller.tenant).filter(|tenant| tenant.as_str() != MANAGEMENT)
}

/// The credentials of a device: made for the first who asks after it was accepted, and the same for who asks again (N-08).
///
/// # Errors
/// As [`create`].
async fn collect(edge: &Edge, caller: &Caller, id: DeviceId) -> Result<DeviceCredentials> {
    match device_credentials::poll(edge.platform.database(), within(caller), &id).await? {
        Admitted::Issued(issued) => reveal(edge, issued, id),
        Admitted::Accepted(tenant) => {
            let password = issue(edge, &tenant, &id).await?;
            Ok(DeviceCredentials { id, tenant, password })
        }
    }
}

/// What a device was given before. Somebody may have deleted its user since, or given it another password: then these credentials
/// are none.
fn reveal(edge: &Edge, Issued { tenant, sealed, hash }: Issued, id: DeviceId) -> Result<DeviceCredentials> {
    let password = open(edge, &tenant, &id, &sealed);
    let current =
        password.filter(|password| hash.is_some_and(|hash| edge.secret_key.verifies(password, &hash)));
    let password = current.ok_or_else(|| Error::not_found(Noun::NewDeviceRequest, &id))?;
    Ok(DeviceCredentials { id, tenant, password })
}

/// Makes credentials, unless another poll of the same moment did.
async fn issue(edge: &Edge, tenant: &TenantId, id: &DeviceId) -> Result<String> {
    let password = password::generate();
    let new = NewPassword {
        hash: &edge.secret_key.hash(&password),
        sealed: &edge.secret_key.sealing().seal(place(tenant, id), &password),
        kept: edge.limits().device_credentials,
    };
    let sealed = device_credentials::issue(edge.platform.database(), tenant, id, new).await?;
    Ok(open(edge, tenant, id, &sealed).ok_or_else(|| Error::not_found(Noun::NewDeviceRequest, id))?)
}

fn open(edge: &Edge, tenant: &TenantId, id: &DeviceId, sealed: &str) -> Option<String> {
    edge.secret_key.sealing().open(place(tenant, id), sealed)
}

/// Where a sealed password belongs.
fn place<'p>(tenant: &'p TenantId, id: &'p DeviceId) -> [&'p str; 3] {
    [tenant.as_str(), "deviceCredentials", id.as_str()]
}
