//! External ids (docs/rules.md#identity; D-01 to D-04).

mod encoding;
mod lifecycle;
mod races;
mod roles;

use crate::harness::prelude::*;

/// Path of the external ids of an object.
fn ids_of(device: &str) -> String {
    format!("/identity/globalIds/{device}/externalIds")
}

/// Body of a POST.
fn pair(kind: &str, value: &str) -> Value {
    json!({"type": kind, "externalId": value})
}

/// Names an object and returns the external id.
async fn name(caller: &Caller, device: &str, kind: &str, value: &str) -> Value {
    caller.create(&ids_of(device), &pair(kind, value)).await
}
