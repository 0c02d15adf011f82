//! The acting device of rows (H-02), and rows as heartbeats.

use super::*;
use crate::harness::application_keys::{KEY, insert_application};

/// Creates a device of the group `devices`.
pub(super) async fn device_user(server: &TestServer, serial: &str) -> Caller {
    server.device_user(serial).await
}

/// Sends rows about another device than the caller.
pub(super) async fn send_for(caller: &Caller, serial: &str, rows: &str) -> String {
    text_of(request(caller, rows).header("X-Device-Id", serial).send().await)
}

/// Returns the id of the object with this serial, if there is one.
pub(super) async fn find(server: &TestServer, serial: &str) -> Option<String> {
    let answer = server.admin().get(&format!("/identity/externalIds/plat_Serial/{serial}")).await;
    (answer.status == 200).then(|| answer.json()["managedObject"]["id"].as_str().unwrap().to_owned())
}

/// Returns the object with this serial.
pub(super) async fn object_of(server: &TestServer, serial: &str) -> Value {
    let id = find(server, serial).await.unwrap_or_else(|| panic!("{serial} names nothing"));
    server.admin().read(&format!("{OBJECTS}/{id}")).await
}

/// The fragments of a device, without the members that every object has.
pub(super) fn told(object: &Value) -> Value {
    without(&without(object, &SERVER_MEMBERS), &["plat_ActiveAlarmsStatus"])
}

/// Returns the number of measurements of an object.
async fn measured(server: &TestServer, object: &str) -> usize {
    let page = format!("{MEASUREMENTS}?source={object}&pageSize=2000");
    ids(&server.admin().read(&page).await, "measurements").len()
}

#[tokio::test]
async fn unknown_device_gets_an_object_with_defaults_by_its_first_row() {
    let (server, device) = with_device_user("sn-1").await;

    assert_eq!(send(&device, "200,t,T,1\n200,t,T,2\n110,x").await, "");

    let object = object_of(&server, "sn-1").await;
    let id = object["id"].as_str().unwrap().to_owned();
    let block = |name: &str| json!({"references": [], "self": format!("<base>{OBJECTS}/<id>/{name}")});
    assert_eq!(
        redacted(&object, &[(&id, "<id>"), (server.base(), "<base>")]),
        json!({
            "id": "<id>", "name": "Device sn-1", "type": "plat_Device", "owner": "device_sn-1",
            "creationTime": "<time>", "lastUpdated": "<time>", "self": format!("<base>{OBJECTS}/<id>"),
            "childDevices": block("childDevices"), "childAssets": block("childAssets"),
            "childAdditions": block("childAdditions"), "deviceParents": block("deviceParents"),
            "assetParents": block("assetParents"), "additionParents": block("additionParents"),
            "plat_IsDevice": {}, "com_platform_model_Agent": {}, "plat_Hardware": {"serialNumber": "x"},
            "plat_ActiveAlarmsStatus": {"critical": 0, "major": 0, "minor": 0, "warning": 0},
        })
    );
    assert_eq!(measured(&server, &id).await, 2);
}

#[tokio::test]
async fn device_that_was_registered_sends_with_the_credentials_it_got() {
    let server = TestServer::start().await;
    let (admin, requests) = (server.admin(), "/devicecontrol/newDeviceRequests");
    admin.create(requests, &json!({"id": "sn-1"})).await;
    let bootstrap = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);
    let poll = json!({"id": "sn-1"});
    assert_eq!(bootstrap.post("/devicecontrol/deviceCredentials", &poll).await.status, 404);
    admin.put(&format!("{requests}/sn-1"), &json!({"status": "ACCEPTED"})).await;
    let told = bootstrap.create("/devicecontrol/deviceCredentials", &poll).await;
    let device = server.caller("main/device_sn-1", told["password"].as_str().unwrap());

    assert_eq!(send(&device, "100,Pump,acme_Pump\n400,started,On\n").await, "");

    assert_eq!(object_of(&server, "sn-1").await["name"], "Pump");
}

#[tokio::test]
async fn caller_that_is_not_a_device_and_names_none_is_422() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let rows =
        "100\n\n101,c\n105\n107,a\n110,a\n117,1\n125\n200,a,b,1\n301,a\n306,a\n400,a,b\n401,1\n407,a\n";
    let answer = send(&admin, rows).await;

    let lines = [1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
    assert_eq!(answer, lines.map(|line| format!("50,{line},422\n")).concat());
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn what_is_wrong_with_a_row_is_said_before_anything_is_created() {
    let (server, device) = with_device_user("sn-1").await;

    let answer = send(&device, "112,x\n125,1\n301\n").await;

    assert_eq!(
        answer,
        "45,1,Value is not a NUMBER: x\n45,2,No arguments supported\n45,3,Wrong number of arguments\n"
    );
    assert_eq!(find(&server, "sn-1").await, None);
}

#[tokio::test]
async fn header_names_a_child_and_an_unknown_one_is_created_with_defaults() {
    let (server, gateway) = with_device_user("gw").await;
    assert_eq!(send(&gateway, "101,t1").await, "");

    assert_eq!(send_for(&gateway, "t1", "110,x").await, "");
    assert_eq!(send_for(&gateway, "t/2 %2F?", "110,y").await, "");

    let child = object_of(&server, "t1").await;
    assert_eq!(
        told(&child),
        json!({"name": "Device t1", "type": "plat_ChildDevice", "plat_IsDevice": {},
            "plat_Hardware": {"serialNumber": "x"}})
    );
    let other = object_of(&server, "t%2F2%20%252F%3F").await;
    assert_eq!(
        told(&other),
        json!({"name": "Device t/2 %2F?", "type": "plat_Device", "plat_IsDevice": {},
            "com_platform_model_Agent": {}, "plat_Hardware": {"serialNumber": "y"}})
    );
    assert_eq!(other["owner"], "device_gw");
    assert_eq!(find(&server, "gw").await.map(|id| id == child["id"]), Some(false));
}

#[tokio::test]
async fn header_names_a_device_for_who_has_the_rights() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device = device_user(&server, "sn-1").await;
    send(&device, "100").await;

    let answer = send_for(&admin, "sn-1", "100\n110,x\n200,t,T,1\n301,hot\n306,hot\n105").await;

    assert_eq!(answer, "106\n");
    let object = object_of(&server, "sn-1").await;
    assert_eq!(
        (&object["owner"], &object["plat_Hardware"]),
        (&json!("device_sn-1"), &json!({"serialNumber": "x"}))
    );
    assert_eq!(measured(&server, object["id"].as_str().unwrap()).await, 1);
}

#[tokio::test]
async fn who_has_no_rights_on_the_named_device_is_403_for_every_row() {
    let (server, device) = with_device_user("sn-1").await;
    assert_eq!(send(&device, "100\n301,hot\n400,opened,Door").await, "");
    let before = object_of(&server, "sn-1").await;
    let joe = server.user_with("joe", &[]).await;
    let rows = [
        "100",
        "101,c",
        "105",
        "107,a",
        "110,a",
        "111,a",
        "112,1",
        "113,a",
        "114,a",
        "115,a",
        "116,a",
        "117,1",
        "118,a",
        "119,a",
        "120,a,b",
        "122,a,b,,c",
        "125",
        "200,a,b,1",
        "201,t,,a,b,1",
        "210,1",
        "211,1",
        "212,1",
        "301,a",
        "302,a",
        "303,a",
        "304,a",
        "305,hot,MINOR",
        "305,cold,MINOR",
        "306,hot",
        "306,cold",
        "307,hot,a",
        "307,cold,a",
        "400,a,b",
        "401,1",
        "402,1",
        "407,opened",
        "407,closed",
        "117",
    ];

    let existing = send_for(&joe, "sn-1", &rows.join("\n")).await;
    let unknown = send_for(&joe, "sn-2", &rows.join("\n")).await;

    let expected: String = (1..=rows.len()).map(|line| format!("50,{line},403\n")).collect();
    assert_eq!(existing, expected);
    assert_eq!(unknown, expected);
    assert_eq!(object_of(&server, "sn-1").await, before);
    assert_eq!(server.count("managed_objects").await, 1);
}

#[tokio::test]
async fn of_many_first_requests_at_once_on_two_servers_one_object_stays() {
    let servers = TestServer::start_two().await;
    device_user(&servers[0], "sn-1").await;
    let user = |server: &TestServer| server.caller("device_sn-1", crate::harness::ADMIN_PASSWORD);
    // The credentials are cached first, so that the rows arrive at the same time.
    for server in &servers {
        user(server).read("/tenant/currentTenant").await;
    }

    let answers = join_all((0..40).map(|n| {
        let device = user(&servers[n % 2]);
        async move { send(&device, &format!("200,t,T,{n}\n200,t,T,{n}")).await }
    }))
    .await;

    assert!(answers.iter().all(String::is_empty), "{answers:?}");
    assert_eq!(servers[0].count("managed_objects").await, 1);
    let device = find(&servers[0], "sn-1").await.unwrap();
    assert_eq!(measured(&servers[0], &device).await, 80);
}

#[tokio::test]
async fn device_that_was_deleted_is_created_anew_on_every_server() {
    let servers = TestServer::start_two().await;
    device_user(&servers[0], "sn-1").await;
    let user = |server: &TestServer| server.caller("device_sn-1", crate::harness::ADMIN_PASSWORD);
    for server in [&servers[0], &servers[0], &servers[1]] {
        assert_eq!(send(&user(server), "200,t,T,1").await, "");
    }
    let first = find(&servers[0], "sn-1").await.unwrap();
    assert_eq!(servers[0].admin().delete(&format!("{OBJECTS}/{first}")).await.status, 204);

    assert_eq!(send(&user(&servers[0]), "200,t,T,2").await, "");
    let second = find(&servers[0], "sn-1").await.unwrap();
    until("the news on the other server", async || send(&user(&servers[1]), "200,t,T,3").await.is_empty())
        .await;

    assert_ne!(first, second);
    assert_eq!(measured(&servers[0], &second).await, 2);
    assert_eq!(servers[0].database().count("managed_objects").await, 1);
}

#[tokio::test]
async fn serial_that_names_another_object_now_leads_there() {
    let (server, device) = with_device_user("sn-1").await;
    // The first request creates the object, the second finds it in the cache.
    for _ in 0..2 {
        assert_eq!(send(&device, "125").await, "");
    }
    let (admin, other) = (server.admin(), device.create_device("other").await);

    assert_eq!(admin.delete("/identity/externalIds/plat_Serial/sn-1").await.status, 204);
    let pair = json!({"type": "plat_Serial", "externalId": "sn-1"});
    admin.create(&format!("/identity/globalIds/{other}/externalIds"), &pair).await;

    assert_eq!(send(&device, "200,t,T,1").await, "");
    assert_eq!(measured(&server, &other).await, 1);
}

#[tokio::test]
async fn device_is_stored_whatever_the_processing_mode_and_its_data_are_not() {
    let (server, device) = with_device_user("sn-1").await;

    for (mode, answer) in [("TRANSIENT", ""), ("CEP", "50,2,422\n50,3,422\n"), ("PERSISTENT", "")] {
        let rows = request(&device, "200,t,T,1\n110,x\n301,hot\n400,a,b");
        let answered = text_of(rows.header("X-Platform-Processing-Mode", mode).send().await);
        assert_eq!(answered, answer, "{mode}");
        let stored = i64::from(mode == "PERSISTENT");
        let id = find(&server, "sn-1").await.unwrap();
        assert_eq!(measured(&server, &id).await as i64, stored, "{mode}");
        for table in ["alarms", "events"] {
            assert_eq!(server.count(table).await, stored, "{mode} {table}");
        }
        let hardware = object_of(&server, "sn-1").await.get("plat_Hardware").is_some();
        assert_eq!(i64::from(hardware), stored, "{mode}");
    }
}

#[tokio::test]
async fn what_can_be_no_serial_is_422() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = send_for(&admin, &"x".repeat(1025), "200,t,T,1\n100").await;

    assert_eq!(answer, "50,1,422\n50,2,422\n");
}

#[tokio::test]
async fn rows_of_an_application_are_not_heartbeats() {
    let database = TestDatabase::create().await;
    insert_application(&database, "main", "cockpit", "k-cockpit").await;
    let pause = Duration::from_millis(1);
    let server = TestServer::start_on(&database, |settings| settings.limits.heartbeat_pause = pause).await;
    let (device, other) = (device_user(&server, "sn-1").await, device_user(&server, "sn-2").await);
    for caller in [&device, &other] {
        assert_eq!(send(caller, "117,10").await, "");
    }
    let back = "UPDATE availability SET last_message = last_message - interval '1 hour'";
    assert_eq!(database.execute(back, &[]).await, 2);
    let last_message = async |device: &str| {
        let object = object_of(&server, device).await;
        object["plat_Availability"]["lastMessage"].as_str().unwrap().to_owned()
    };
    let before = [last_message("sn-1").await, last_message("sn-2").await];

    for row in ["200,t,T,1", "301,hot", "400,a,b", "110,x"] {
        let answer = request(&device, row).header(KEY, "k-cockpit").send().await;
        assert_eq!(answer.text, "", "{row}");
    }
    // If the row counted, it would have been written before this.
    assert_eq!(send(&other, "200,t,T,1").await, "");
    until("the other's heartbeat", async || last_message("sn-2").await > before[1]).await;

    assert_eq!(last_message("sn-1").await, before[0]);
}

#[tokio::test]
async fn rows_of_a_device_are_its_heartbeats() {
    let server =
        TestServer::start_with(|settings| settings.limits.heartbeat_pause = Duration::from_millis(1)).await;
    let device = device_user(&server, "sn-1").await;
    assert_eq!(send(&device, "117,10").await, "");
    let last_message = async || {
        let object = object_of(&server, "sn-1").await;
        object["plat_Availability"]["lastMessage"].as_str().unwrap().to_owned()
    };

    for row in ["200,t,T,1", "301,hot", "400,a,b", "110,x", "117,99", "125"] {
        let back = "UPDATE availability SET last_message = last_message - interval '1 minute'";
        assert_eq!(server.database().execute(back, &[]).await, 1);
        let before = last_message().await;
        assert_eq!(send(&device, row).await, "");
        until(row, async || last_message().await > before).await;
    }
}
