//! The sessions of clients, as administrators see them (B-25).

mod ending;
mod listing;

use serde_json::Value;

use crate::harness::{Caller, TestDatabase, TestServer};

const SESSIONS: &str = "/tenant/sessions";

/// Reads the only session that a query selects.
async fn only(caller: &Caller, query: &str) -> Value {
    let list = caller.read(&format!("{SESSIONS}?{query}")).await;
    let sessions = list["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{list:#}");
    sessions[0].clone()
}

/// Starts two servers on one database, with names.
async fn north_and_south() -> [TestServer; 2] {
    let database = TestDatabase::create().await;
    let [north, south] = ["north", "south"].map(|name| {
        |settings: &mut platform_front::config::Settings| settings.server_name = Some(name.to_owned())
    });
    [TestServer::start_on(&database, north).await, TestServer::start_on(&database, south).await]
}
