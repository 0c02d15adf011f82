//! Tests how changes reach a tenant's modules, and how the rows of modules reach sessions (Q-06, Q-19, M-04,
//! B-05); and on what their writes depend.

mod channels;
mod fence;
mod leases;
mod modes;

use crate::harness::prelude::*;

const MODULES: &str = "/cep/modules";

/// Uploads a module and returns it.
async fn deploy(caller: &Caller, text: &str) -> Value {
    let request = caller.request("POST", MODULES).accepting_json().header("Content-Type", "text/plain");
    let answer = request.body(text).send().await.expect(201);
    answer.json()
}
