//! The alarm for a silent device.

use super::*;

/// Starts a server with a silent device; returns its user and its id. The server counts as always running.
async fn silent_pump() -> (TestServer, Caller, String) {
    let server = server().await;
    listened_for_long(server.database()).await;
    let user = device_user(&server, "pump").await;
    let device = watched(&user, 10).await;
    silence(server.database(), &device, 11).await;
    (server, user, device)
}

#[tokio::test]
async fn silent_device_gets_an_alarm_that_is_published() {
    let server = server().await;
    listened_for_long(server.database()).await;
    let admin = server.admin();
    let session = admin.listen("/alarms/*").await;
    let device = watched(&admin, 10).await;
    silence(server.database(), &device, 11).await;
    let since = last_message(&admin, &device).await;

    let alarms = until_alarm_is(&admin, &device, "ACTIVE").await;

    let names = [(&*device, "<device>"), (server.base(), "<base>"), (&*since, "<since>")];
    let members = ["id", "self", "time", "firstOccurrenceTime", "history"];
    let expected = json!({
        "creationTime": "<time>",
        "type": "plat_UnavailabilityAlarm",
        "text": "No communication with device since <since>",
        "source": {"id": "<device>", "self": "<base>/inventory/managedObjects/<device>", "name": "pump"},
        "status": "ACTIVE",
        "severity": "MAJOR",
        "count": 1,
    });
    assert_eq!(redacted(&without(&alarms[0], &members), &names), expected);
    let told = session.receive(1).await;
    assert_eq!(told[0]["data"]["realtimeAction"], "CREATE");
    assert_eq!(told[0]["data"]["data"]["id"], alarms[0]["id"]);
    assert_eq!(admin.read(&object(&device)).await["plat_ActiveAlarmsStatus"]["major"], 1);
}

#[tokio::test]
async fn one_silence_has_one_alarm() {
    let (server, user, device) = silent_pump().await;
    until_alarm_is(&user, &device, "ACTIVE").await;

    sweeps_went_by(&server).await;

    let alarms = unavailability_alarms(&user, &device).await;
    assert_eq!((alarms.len(), &alarms[0]["count"]), (1, &json!(1)));
}

#[tokio::test]
async fn device_that_sends_in_time_gets_none() {
    let (server, _, _) = silent_pump().await;
    let admin = server.admin();
    let device = watched(&admin, 10).await;
    silence(server.database(), &device, 9).await;

    sweeps_went_by(&server).await;

    assert_eq!(unavailability_alarms(&admin, &device).await, Vec::<Value>::new());
}

#[tokio::test]
async fn next_message_clears_the_alarm_once_with_an_audit_record() {
    let (server, user, device) = silent_pump().await;
    let alarms = until_alarm_is(&user, &device, "ACTIVE").await;
    let session = server.admin().listen("/alarms/*").await;

    user.put(&object(&device), &json!({})).await;

    until_alarm_is(&user, &device, "CLEARED").await;
    assert_eq!(super::status(&user, &device).await, "AVAILABLE");
    user.put(&object(&device), &json!({})).await;
    sweeps_went_by(&server).await;
    let told = session.receive(1).await;
    assert_eq!(told[0]["data"]["realtimeAction"], "UPDATE");
    assert_eq!(told[0]["data"]["data"]["status"], "CLEARED");
    let records = server.audit_records(alarms[0]["id"].as_str().unwrap()).await;
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!((&records[0]["user"], &records[0]["activity"]), (&json!("system"), &json!("Alarm updated")));
    assert_eq!(unavailability_alarms(&user, &device).await.len(), 1);
}

#[tokio::test]
async fn acknowledged_alarm_is_cleared_too() {
    let (server, user, device) = silent_pump().await;
    let alarms = until_alarm_is(&user, &device, "ACTIVE").await;
    let path = alarms[0]["self"].as_str().unwrap();
    server.admin().put(path, &json!({"status": "ACKNOWLEDGED"})).await;

    user.raise_alarm(&device, "hot").await;

    until_alarm_is(&user, &device, "CLEARED").await;
}

#[tokio::test]
async fn each_silence_has_an_alarm_of_its_own() {
    let (server, user, device) = silent_pump().await;
    for silences in 1..=3 {
        let alarms = until_alarm_is(&user, &device, "ACTIVE").await;
        assert_eq!((alarms.len(), &alarms[0]["count"]), (silences, &json!(1)));
        user.put(&object(&device), &json!({})).await;
        until_alarm_is(&user, &device, "CLEARED").await;
        crate::harness::until("the end of the silence", async || {
            let open = "SELECT FROM availability WHERE silent_since IS NOT NULL";
            server.database().query(open, &[]).await.is_empty()
        })
        .await;
        silence(server.database(), &device, 11).await;
    }
}

#[tokio::test]
async fn alarm_that_people_clear_does_not_come_back_for_the_same_silence() {
    let (server, user, device) = silent_pump().await;
    let alarms = until_alarm_is(&user, &device, "ACTIVE").await;
    let path = alarms[0]["self"].as_str().unwrap();
    server.admin().put(path, &json!({"status": "CLEARED"})).await;

    sweeps_went_by(&server).await;

    assert_eq!(unavailability_alarms(&user, &device).await.len(), 1);
    assert_eq!(super::status(&user, &device).await, "UNAVAILABLE");
}

#[tokio::test]
async fn sweep_clears_what_a_server_left_that_died_in_between() {
    let (server, user, device) = silent_pump().await;
    until_alarm_is(&user, &device, "ACTIVE").await;

    // The message of the device and its time are stored, but the alarm is not cleared yet.
    server.database().execute("UPDATE availability SET last_message = now()", &[]).await;

    until_alarm_is(&user, &device, "CLEARED").await;
}

#[tokio::test]
async fn after_a_restart_devices_get_their_interval_again() {
    let server = server().await;
    listened_for_long(server.database()).await;
    let device = watched(&server.admin(), 10).await;
    let database = server.shared_database();
    server.stop().await;
    silence(&database, &device, 60).await;

    let (_server, admin) = server_on(&database).await.with_admin();
    let nobody = async |minutes: f64| {
        // Sets the start of the watch to this long ago.
        let statement = "UPDATE deployment SET value = (extract(epoch FROM now()) - 60 * $1::float8)::text \
            WHERE name = 'availability watched since'";
        database.execute(statement, &[&minutes]).await;
        let marker = watched(&admin, 1).await;
        silence(&database, &marker, 60).await;
        until_alarm_is(&admin, &marker, "ACTIVE").await;
        unavailability_alarms(&admin, &device).await.is_empty()
    };

    assert_eq!(super::status(&admin, &device).await, "UNAVAILABLE");
    assert!(nobody(5.0).await, "the interval of this one has not passed since the start");
    listened_for_long(&database).await;
    until_alarm_is(&admin, &device, "ACTIVE").await;
}

#[tokio::test]
async fn watch_begins_with_the_first_watched_device() {
    let (server, admin) = TestServer::start_with(super::quick).await.with_admin();
    until("a sweep that finds nothing to watch", async || {
        let state = admin.read("/health/ready?withDetails=true").await;
        let jobs = state["jobs"].as_array().unwrap();
        jobs.iter().any(|job| job["name"] == "silence" && job["lastResult"] == "DONE")
    })
    .await;
    listened_for_long(server.database()).await;

    watched(&admin, 10).await;

    let since = "SELECT value::float8 > extract(epoch FROM now()) - 600 FROM deployment \
        WHERE name = 'availability watched since'";
    until("the watch", async || server.database().query(since, &[]).await[0].get::<_, bool>(0)).await;
}

#[tokio::test]
async fn grace_comes_on_top_of_the_interval() {
    let grace = std::time::Duration::from_secs(3600);
    let server = TestServer::start_with(|settings| {
        super::quick(settings);
        settings.limits.silence_grace = grace;
    })
    .await;
    super::listening(server.database(), 1).await;
    let admin = server.admin();
    let (short, long) = (watched(&admin, 1).await, watched(&admin, 90).await);
    for device in [&short, &long] {
        silence(server.database(), device, 1000).await;
    }

    let statement = "UPDATE deployment SET value = (extract(epoch FROM now()) - 3700)::text \
        WHERE name = 'availability watched since'";
    server.database().execute(statement, &[]).await;

    until_alarm_is(&admin, &short, "ACTIVE").await;
    assert_eq!(unavailability_alarms(&admin, &long).await, Vec::<Value>::new());
}

#[tokio::test]
async fn devices_of_a_suspended_tenant_get_none() {
    let (server, _, _) = silent_pump().await;
    let admin = server.admin();
    let statement = "INSERT INTO tenants (id, domain, company, status, created_at) \
        VALUES ('t7', 't7.example.com', 'x', 'SUSPENDED', now())";
    server.database().execute(statement, &[]).await;
    for statement in [
        "INSERT INTO managed_objects (tenant, id, owner, created_at, updated_at, fragments) \
            VALUES ('t7', 1, 'x', now(), now(), '{}')",
        "INSERT INTO availability (tenant, device, response_interval, last_message, counted_from) \
            VALUES ('t7', 1, 1, now() - interval '1 h', now() - interval '1 h')",
    ] {
        server.database().execute(statement, &[]).await;
    }

    sweeps_went_by(&server).await;

    assert_eq!(server.database().query("SELECT FROM alarms WHERE tenant = 't7'", &[]).await.len(), 0);
    drop(admin);
}
