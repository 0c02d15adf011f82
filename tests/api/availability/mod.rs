//! Availability, maintenance, and the fragments that the server adds to managed objects.
//!
//! Intervals are whole minutes, for which tests cannot wait. Tests move the stored times back instead, because the
//! server reads nothing else.

mod connection;
#[path = "connection.rs"]
mod connection_without_lane;
mod fragments;
mod heartbeat;
mod maintenance;
mod query;
mod rhythm;
mod several_servers;
mod silence;

use std::sync::Arc;

use platform_front::config::Settings;

use crate::harness::prelude::*;

/// Starts a server that writes heartbeats at once and checks for silent devices all the time.
async fn server() -> TestServer {
    server_on(&TestDatabase::create().await).await
}

async fn server_on(database: &Arc<TestDatabase>) -> TestServer {
    let server = TestServer::start_on(database, quick).await;
    listening(database, 1).await;
    server
}

fn quick(settings: &mut Settings) {
    settings.limits.heartbeat_pause = Duration::from_millis(1);
    settings.limits.silence_sweep = Duration::from_millis(50);
    settings.limits.silence_grace = Duration::ZERO;
}

/// Waits until this number of servers watch for silent devices. They begin with the first watched device, which this
/// creates and deletes.
async fn listening(database: &TestDatabase, servers: i64) {
    let objects = "INSERT INTO managed_objects (tenant, id, owner, created_at, updated_at, fragments) \
        VALUES ('main', 1, 'admin', now(), now(), '{}')";
    let watched = "INSERT INTO availability (tenant, device, response_interval, last_message, counted_from) \
        VALUES ('main', 1, 1000, now(), now())";
    for statement in [objects, watched] {
        database.execute(statement, &[]).await;
    }
    let count = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    until("the watch over silent devices", async || {
        database.query(count, &[]).await[0].get::<_, i64>(0) >= servers
    })
    .await;
    database.execute("DELETE FROM managed_objects WHERE id = 1", &[]).await;
}

/// Makes it look as if servers had been running all the time, so that devices and not the servers were silent.
async fn listened_for_long(database: &TestDatabase) {
    let statement = "UPDATE deployment SET value = '0' WHERE name = 'availability watched since'";
    assert_eq!(database.execute(statement, &[]).await, 1);
}

/// The user of a device, who may create its object.
async fn device_user(server: &TestServer, name: &str) -> Caller {
    server.user_with(&format!("device_{name}"), &["ROLE_INVENTORY_CREATE", "ROLE_ALARM_READ"]).await
}

/// Creates a device of this caller that must send a message within this many minutes, and returns its id.
async fn watched(caller: &Caller, minutes: i64) -> String {
    let body = json!({"name": "pump", "plat_IsDevice": {}, "plat_RequiredAvailability": {"responseInterval": minutes}});
    caller.create(OBJECTS, &body).await["id"].as_str().unwrap().to_owned()
}

fn object(id: &str) -> String {
    format!("{OBJECTS}/{id}")
}

/// Makes a device look silent for this many more minutes.
async fn silence(database: &TestDatabase, device: &str, minutes: i32) {
    let statement = "UPDATE availability SET last_message = last_message - make_interval(mins => $2), \
        counted_from = counted_from - make_interval(mins => $2) WHERE device = $1";
    assert_eq!(database.execute(statement, &[&id(device), &minutes]).await, 1);
}

fn id(device: &str) -> i64 {
    device.parse().unwrap()
}

/// Returns the time of the device's last message, as the server shows it.
async fn last_message(caller: &Caller, device: &str) -> String {
    caller.read(&object(device)).await["plat_Availability"]["lastMessage"].as_str().unwrap().to_owned()
}

async fn status(caller: &Caller, device: &str) -> Value {
    caller.read(&object(device)).await["plat_Availability"]["status"].clone()
}

/// Returns the alarms about silence of a device, newest first.
async fn unavailability_alarms(caller: &Caller, device: &str) -> Vec<Value> {
    let page =
        caller.read(&format!("{ALARMS}?source={device}&type=plat_UnavailabilityAlarm&pageSize=100")).await;
    page["alarms"].as_array().unwrap().clone()
}

/// Waits until the newest alarm of a device's silences has this status and returns them all.
async fn until_alarm_is(caller: &Caller, device: &str, status: &str) -> Vec<Value> {
    eventually(status, async || {
        let alarms = unavailability_alarms(caller, device).await;
        alarms.first().is_some_and(|alarm| alarm["status"] == status).then_some(alarms)
    })
    .await
}

/// Waits until sweeps have looked at everything that is silent by now.
async fn sweeps_went_by(server: &TestServer) {
    let marker = watched(&server.admin(), 1).await;
    silence(server.database(), &marker, 5).await;
    until_alarm_is(&server.admin(), &marker, "ACTIVE").await;
}
