//! Static row 121: a device reports whether its profile is installed.

use actix_web::http::StatusCode;
use platform_model::data::operation::OperationStatus;
use platform_model::fragments::Fragments;
use platform_model::naming::naming;
use serde_json::value::RawValue;

use super::json_object::raw;
use super::queue::{OperationQueue, QueuedOperation};
use super::{Row, device};
use crate::csv::kind::Kind;
use crate::csv::refusal::Refusal;

/// Executes `121,<executed>[,<profile id>]`: sets `plat_Profile` of the acting device. Profile and name come
/// from the oldest EXECUTING operation of this device with `plat_DeviceProfile`; an operation of a child says
/// nothing about its parent's profile. With an id the name is taken only from an operation of that profile.
///
/// `<executed>` is `true` or `false`. No argument type consists of these words, so another word is rejected
/// as not a STRING.
///
/// # Errors
/// Invalid arguments; 404 without an id when there is no such operation; the error of a call.
pub(super) async fn perform(row: &Row<'_>) -> Result<(), Refusal> {
    let Row { engine, arguments, .. } = *row;
    let executed = arguments.mandatory(0)?;
    arguments.at_most(2)?;
    if !["true", "false"].contains(&executed) {
        return Err(Refusal::Kind(Kind::String, executed.to_owned()));
    }
    let own = engine.own_device().await?;
    let queue = OperationQueue::OfDevice(own);
    let fragment = naming().fragment("DeviceProfile");
    let operation = queue.oldest(&engine.rest, OperationStatus::Executing, &fragment).await?;
    let (id, name) = match (arguments.text(1), operation) {
        (Some(id), operation) => {
            let operation = operation.filter(|operation| profile_text(operation).as_deref() == Some(id));
            (raw(id), operation.and_then(|operation| name(&operation)))
        }
        (None, Some(operation)) => (profile_id(&operation), name(&operation)),
        (None, None) => return Err(Refusal::Rest(StatusCode::NOT_FOUND)),
    };
    let mut profile = Fragments::default();
    profile.set("profileId", id);
    if let Some(name) = name {
        profile.set("profileName", name);
    }
    profile.set("profileExecuted", raw(&(executed == "true")));
    let mut change = Fragments::default();
    change.set(&naming().fragment("Profile"), raw(&profile));
    device::put(engine, change.to_json()).await
}

/// Returns the profile of an operation; an operation that names none is itself the profile.
fn profile_id(operation: &QueuedOperation) -> Box<RawValue> {
    operation.member("profileId").map_or_else(|| raw(&operation.id()), ToOwned::to_owned)
}

/// Returns the profile as an argument would spell it.
fn profile_text(operation: &QueuedOperation) -> Option<String> {
    let id = profile_id(operation);
    serde_json::from_str(id.get()).ok().or_else(|| Some(id.get().to_owned()))
}

fn name(operation: &QueuedOperation) -> Option<Box<RawValue>> {
    operation.member("profileName").map(ToOwned::to_owned)
}
