//! The storage of a set as a managed object with an external id, by the REST calls that a client would make
//! (S-15, S-16).

use platform_model::devices::external_id::NewExternalId;
use platform_model::id::ManagedObjectId;
use platform_store::devices::inventory::template_sets;
use serde_json::json;

use super::draft::Draft;
use crate::csv::engine::Engine;
use crate::csv::named_objects::create_named;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::Call;

/// Stores a set. Returns its object, or `None` when a concurrent request registered the X-Id.
///
/// # Errors
/// The error of a call.
pub(super) async fn store(engine: &Engine<'_>, draft: Draft) -> Result<Option<ManagedObjectId>, Refusal> {
    let name = NewExternalId { type_: template_sets::x_id_type(), value: draft.x_id.clone() };
    let object = json!({
        "type": name.value,
        "name": name.value,
        template_sets::fragment(): draft.into_fragment(),
    });
    create_named(&engine.rest, Call::post("/inventory/managedObjects", object.to_string()), name).await
}
