//! `/identity` (docs/rules.md#identity; D-01 to D-04).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use percent_encoding::percent_decode_str;
use platform_actors::Platform;
use platform_model::access::{Api, Authority, Grants, Permission};
use platform_model::devices::external_id::{ExternalId, NewExternalId};
use platform_model::devices::reference::WantedReferences;
use platform_model::error::Error;
use platform_model::id::ManagedObjectId;
use platform_model::role;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::{RequestHead, reply};

/// `POST /identity/globalIds/<id>/externalIds`: adds an external id to an object.
///
/// # Errors
/// 403 without the role or ownership, 404 for an unknown object, 409 for an external id that is taken, 422
/// for an invalid body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let mode = head.mode()?;
    let object = ManagedObjectId::parse(&path)?;
    caller.finds(&platform, object, &writing(&caller)).await?;
    let (media_type, pair) = body.parse(&["externalId"], NewExternalId::parse).await?;

    let database = platform.database();
    let id = if mode.stores() {
        platform_store::devices::inventory::external_ids::insert_external_id(
            database,
            &caller.tenant,
            object,
            pair,
        )
        .await?
    } else {
        let wanted = WantedReferences::NONE;
        platform_store::devices::inventory::managed_objects::get_managed_object(
            database,
            &caller.tenant,
            object,
            wanted,
        )
        .await?;
        ExternalId { pair, object: None }
    };

    let links = head.links();
    let location = id.link(&links);
    Ok(reply::created(&head, media_type, location, &Arc::new(id), &links))
}

/// `GET /identity/globalIds/<id>/externalIds`: returns all external ids of an object (D-01).
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an unknown one.
pub async fn list(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let object = ManagedObjectId::parse(&path)?;
    caller.reaches(&platform, object, &reading(&caller)).await?;
    let media_type = head.accepted("externalIdCollection")?;
    let ids = platform_store::devices::inventory::external_ids::list_external_ids(
        platform.database(),
        &caller.tenant,
        object,
    )
    .await?;
    Ok(reply::found(media_type, &ids, &head.links()))
}

/// `GET /identity/externalIds/<type>/<value>`: returns the object of an external id.
///
/// # Errors
/// 403 for the external id of an object the caller may not see, 404 for an unknown external id, 422 for an
/// invalid one.
pub async fn get(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let media_type = head.accepted("externalId")?;
    let (database, pair) = (platform.database(), named(&head)?);
    let (object, id) =
        platform_store::devices::inventory::external_ids::get_external_id(database, &caller.tenant, pair)
            .await?;
    caller.reaches(&platform, object, &reading(&caller)).await?;
    Ok(reply::found(media_type, &id, &head.links()))
}

/// `DELETE /identity/externalIds/<type>/<value>`: removes an external id and returns 204. The object stays.
///
/// # Errors
/// 403 without the role or ownership, 404 for an unknown external id.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let mode = head.mode()?;
    let (database, pair) = (platform.database(), named(&head)?);
    let (object, id) =
        platform_store::devices::inventory::external_ids::get_external_id(database, &caller.tenant, pair)
            .await?;
    caller.reaches(&platform, object, &writing(&caller)).await?;
    if mode.stores() {
        platform_store::devices::inventory::external_ids::delete_external_id(
            database,
            &caller.tenant,
            object,
            &id.pair,
        )
        .await?;
    }
    Ok(HttpResponse::NoContent().finish())
}

/// Returns the authority to read external ids. Device permissions for managed objects count (U-12).
fn reading(caller: &Caller) -> Authority {
    caller.authority(role::IDENTITY_READ, Api::ManagedObject, Permission::Read)
}

/// Returns the authority to write external ids: the role, or ownership. Device permissions do not count
/// (D-04, U-12).
fn writing(caller: &Caller) -> Authority {
    if caller.roles.has(role::IDENTITY_ADMIN) {
        Authority::Role
    } else {
        Authority::Limited(Grants::default())
    }
}

/// Parses the external id from the path as it was sent (D-03). The router's copy is already decoded: in it an
/// encoded slash or percent sign looks like a plain one, and bytes that are not UTF-8 were replaced.
fn named(head: &RequestHead) -> Result<NewExternalId> {
    let mut segments = head.path().rsplit('/');
    let (value, type_) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
    let decoded = |name: &str, text: &str| {
        let decoded = percent_decode_str(text).decode_utf8().map(|text| text.into_owned());
        decoded.map_err(|_| Error::invalid_value(name, text, "percent-encoded UTF-8"))
    };
    Ok(NewExternalId::new(decoded("type", type_)?, decoded("externalId", value)?)?)
}
