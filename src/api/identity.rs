//! `/identity` (docs/rules.md#identity; D-01 to D-04).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use percent_encoding::percent_decode_str;
use platform_actors::model::access::{Api, Authority, Grants, Permission};
use platform_actors::model::external_id::{ExternalId, NewExternalId};
use platform_actors::model::id::ManagedObjectId;
use platform_actors::model::reference::WantedReferences;
use platform_actors::model::role;
use platform_actors::{Error, store};

use crate::auth::Caller;
use crate::http::body::Unread;
use crate::http::error::Result;
use crate::http::{Wire, reply};
use crate::server::Edge;

/// `POST /identity/globalIds/<id>/externalIds`: gives an object another name.
///
/// # Errors
/// 403 without role or ownership, 404 for an unknown object, 409 for a pair that is taken, 422 for a wrong body.
pub async fn create(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    body: Unread,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let mode = wire.mode()?;
    let object = ManagedObjectId::parse(&path)?;
    caller.finds(&edge, object, &writing(&caller)).await?;
    let media_type = wire.accepted("externalId")?;
    wire.check_content_type(&["externalId"])?;
    let pair = NewExternalId::parse(body.json(edge.limits().body_bytes).await?)?;

    let database = edge.platform.database();
    let id = match mode.stores() {
        true => store::external_ids::insert_external_id(database, &caller.tenant, object, pair).await?,
        false => {
            let wanted = WantedReferences::NONE;
            store::managed_objects::get_managed_object(database, &caller.tenant, object, wanted).await?;
            ExternalId { pair, object: None }
        }
    };

    let links = wire.links();
    let location = links.external_id(id.object.is_some().then_some(&id.pair));
    Ok(reply::created(&wire, media_type, location, &Arc::new(id), &links))
}

/// `GET /identity/globalIds/<id>/externalIds`: all names of an object (D-01).
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an unknown one.
pub async fn list(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let object = ManagedObjectId::parse(&path)?;
    caller.reaches(&edge, object, &reading(&caller)).await?;
    let media_type = wire.accepted("externalIdCollection")?;
    let ids =
        store::external_ids::list_external_ids(edge.platform.database(), &caller.tenant, object).await?;
    Ok(reply::found(media_type, &ids, &wire.links()))
}

/// `GET /identity/externalIds/<type>/<value>`: the object behind a name.
///
/// # Errors
/// 403 for the name of an object the caller may not see, 404 for an unknown one, 422 for one that cannot be.
pub async fn get(caller: Caller, wire: Wire, edge: web::Data<Edge>) -> Result<HttpResponse> {
    let media_type = wire.accepted("externalId")?;
    let (database, pair) = (edge.platform.database(), named(&wire)?);
    let (object, id) = store::external_ids::get_external_id(database, &caller.tenant, pair).await?;
    caller.reaches(&edge, object, &reading(&caller)).await?;
    Ok(reply::found(media_type, &id, &wire.links()))
}

/// `DELETE /identity/externalIds/<type>/<value>`: 204; the object stays.
///
/// # Errors
/// 403 without role or ownership, 404 for an unknown name.
pub async fn remove(caller: Caller, wire: Wire, edge: web::Data<Edge>) -> Result<HttpResponse> {
    let mode = wire.mode()?;
    let (database, pair) = (edge.platform.database(), named(&wire)?);
    let (object, id) = store::external_ids::get_external_id(database, &caller.tenant, pair).await?;
    caller.reaches(&edge, object, &writing(&caller)).await?;
    if mode.stores() {
        store::external_ids::delete_external_id(database, &caller.tenant, object, &id.pair).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}

/// Device permissions on managed objects cover reads of their names (U-12).
fn reading(caller: &Caller) -> Authority {
    caller.authority(role::IDENTITY_READ, Api::ManagedObject, Permission::Read)
}

/// Device permissions do not cover writes: a role, or ownership (D-04, U-12).
fn writing(caller: &Caller) -> Authority {
    match caller.roles.has(role::IDENTITY_ADMIN) {
        true => Authority::Role,
        false => Authority::Limited(Grants::default()),
    }
}

/// The pair a path names. Read from the path as it was sent: the router has decoded its own copy, in which an encoded
/// slash or percent sign can no longer be told from others, and bytes that are no UTF-8 were replaced (D-03).
fn named(wire: &Wire) -> Result<NewExternalId> {
    let mut segments = wire.path().rsplit('/');
    let (value, type_) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
    let decoded = |name: &str, text: &str| {
        let decoded = percent_decode_str(text).decode_utf8().map(|text| text.into_owned());
        decoded.map_err(|_| Error::invalid_value(name, text, "percent-encoded UTF-8"))
    };
    Ok(NewExternalId::new(decoded("type", type_)?, decoded("externalId", value)?)?)
}
