//! A set becomes a managed object with an external id, through the same routes as a client's (S-15, S-16).

use actix_web::http::StatusCode;
use actix_web::rt;
use platform_actors::store::template_sets;
use serde_json::{Value, json};

use super::draft::Draft;
use crate::csv::engine::Engine;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::{Call, RestCaller};

/// What became of a set.
#[derive(Debug)]
pub(super) enum Stored {
    /// The id of its object.
    Created(String),
    /// Somebody else registered the X-Id meanwhile.
    Taken,
}

/// Stores a set, also if the client goes away between the two steps. A set that is only told (processing mode) would be none.
///
/// # Errors
/// What the platform refused.
pub(super) async fn store(engine: &Engine<'_>, draft: Draft) -> Result<Stored, Refusal> {
    let rest = engine.rest.persistent();
    let stored = rt::spawn(async move {
        let x_id = draft.x_id.clone();
        create(&rest, &x_id, draft.into_fragment()).await
    });
    stored.await.unwrap_or(Err(Refusal::Rest(StatusCode::SERVICE_UNAVAILABLE)))
}

async fn create(rest: &RestCaller, x_id: &str, fragment: Value) -> Result<Stored, Refusal> {
    let object = json!({"type": x_id, "name": x_id, template_sets::fragment(): fragment});
    let created =
        rest.call(Call::post("/inventory/managedObjects", object.to_string()).accepting_json()).await?;
    let created = created.json().await?.unwrap_or_default();
    let object = created["id"].as_str().unwrap_or_default();
    let external_id = json!({"type": template_sets::x_id_type(), "externalId": x_id}).to_string();
    match rest.call(Call::post(format!("/identity/globalIds/{object}/externalIds"), external_id)).await {
        Ok(_) => Ok(Stored::Created(object.to_owned())),
        Err(refusal) => {
            // Without its name it is no set; who may create an object may delete it.
            rest.call(Call::delete(format!("/inventory/managedObjects/{object}"))).await.ok();
            match refusal {
                Refusal::Rest(StatusCode::CONFLICT) => Ok(Stored::Taken),
                refusal => Err(refusal),
            }
        }
    }
}
