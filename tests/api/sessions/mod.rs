//! The sessions of clients, as administrators see them (B-25).

mod ending;
mod listing;

use crate::harness::prelude::*;

const SESSIONS: &str = "/tenant/sessions";

/// Reads the only session that a query selects.
async fn only(caller: &Caller, query: &str) -> Value {
    let list = caller.read(&format!("{SESSIONS}?{query}")).await;
    let sessions = list["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{list:#}");
    sessions[0].clone()
}
