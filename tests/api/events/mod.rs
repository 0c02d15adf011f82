//! Events (docs/rules.md#events; V-01, V-02).

mod create;
mod delete;
mod delete_many;
mod filters;
mod limited_pages;
mod modes;
mod notifications;
mod roles;
mod several_servers;
mod update;

use serde_json::json;

use crate::harness::{Caller, TestServer};

const EVENTS: &str = "/event/events";

/// A user without roles, with these entries on this device.
async fn permitted(server: &TestServer, name: &str, device: &str, entries: &[&str]) -> Caller {
    let caller = server.user_with(name, &[]).await;
    let permissions = json!({device: entries}).to_string();
    let update = "UPDATE users SET device_permissions = $2::text::json WHERE name = $1";
    server.database().execute(update, &[&name, &permissions]).await;
    caller
}
