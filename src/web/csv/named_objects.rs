//! Objects that can be found only by an external id: they are created and named by two calls, or not at all.

use actix_web::http::StatusCode;
use actix_web::rt;
use platform_model::devices::external_id::NewExternalId;
use platform_model::id::ManagedObjectId;
use serde_json::json;

use super::refusal::Refusal;
use super::rest_caller::{Call, RestCaller};

/// Creates an object by a call and adds an external id to it. Both are stored whatever the processing mode,
/// because other rows depend on them, and the second call is made even if the client disconnects. Returns
/// `None` when a concurrent request took the name.
///
/// # Errors
/// The error of the call; then no object remains.
pub(super) async fn create_named(
    rest: &RestCaller,
    creation: Call,
    name: NewExternalId,
) -> Result<Option<ManagedObjectId>, Refusal> {
    let created = rt::spawn(create_and_name(rest.persistent(), creation.accepting_json(), name));
    created.await.unwrap_or(Err(Refusal::Rest(StatusCode::SERVICE_UNAVAILABLE)))
}

async fn create_and_name(
    rest: RestCaller,
    creation: Call,
    name: NewExternalId,
) -> Result<Option<ManagedObjectId>, Refusal> {
    let created = rest.call(creation).await?.json().await?.unwrap_or_default();
    let object = ManagedObjectId::parse(created["id"].as_str().unwrap_or_default())?;
    let pair = json!({"type": name.type_, "externalId": name.value}).to_string();
    let naming = Call::post(format!("/identity/globalIds/{object}/externalIds"), pair);
    let Err(refusal) = rest.call(naming).await else { return Ok(Some(object)) };
    // A caller who may create an object may also delete it.
    if let Err(kept) = rest.call(Call::delete(format!("/inventory/managedObjects/{object}"))).await {
        tracing::warn!(%object, name = %name.value, "an object that could not be named was not deleted: {kept}");
    }
    match refusal {
        Refusal::Rest(StatusCode::CONFLICT) => Ok(None),
        refusal => Err(refusal),
    }
}
