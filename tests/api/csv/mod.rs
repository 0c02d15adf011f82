//! The compact CSV protocol (docs/rules.md#csv-protocol).

mod acting_device;
mod bootstrap;
mod hostile;
mod lines;
mod operation_parameters;
mod operation_races;
mod profiles;
mod realtime;
#[path = "realtime/mod.rs"]
mod realtime_at_two_servers;
#[path = "realtime/mod.rs"]
mod realtime_without_lane;
mod registration;
mod registration_flaws;
mod request_templates;
mod response_templates;
mod row_order;
mod several_x_ids;
mod static_alarms;
mod static_children;
mod static_device;
mod static_events;
mod static_measurements;
mod static_operations;
mod static_responses;
mod stored_sets;

use crate::harness::csv::{request, send, text_of};
use crate::harness::prelude::*;

/// Sends rows of a registered set and returns the answer's text.
async fn send_to(caller: &Caller, x_id: &str, rows: &str) -> String {
    text_of(request(caller, rows).header("X-Id", x_id).send().await)
}

/// Registers a set that has no flaws and returns the id of its object.
async fn register(caller: &Caller, x_id: &str, templates: &str) -> String {
    let answer = send_to(caller, x_id, templates).await;
    let id = answer.strip_prefix("20,").and_then(|id| id.strip_suffix('\n'));
    id.unwrap_or_else(|| panic!("{x_id} is not registered: {answer}")).to_owned()
}

/// Returns a tenant of its own, and a caller in it that is the device with this serial.
async fn with_device_user(serial: &str) -> (TestServer, Caller) {
    let server = TestServer::shared().await;
    let device = server.device_user(serial).await;
    (server, device)
}
