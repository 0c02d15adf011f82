//! `X-Platform-Processing-Mode` (docs/rules.md#processing-modes; M-01 to M-03).

use super::*;

const HEADER: &str = "X-Platform-Processing-Mode";

async fn send(caller: &Caller, method: &str, path: &str, mode: &str, body: &Value) -> Response {
    caller.request(method, path).accepting_json().header(HEADER, mode).json(body).send().await
}

#[tokio::test]
async fn transient_alarm_is_returned_without_id_and_not_stored() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let stored = admin.raise_alarm(&device, "hot").await;

    let answer = send(&admin, "POST", "/alarm/alarms", "TRANSIENT", &alarm_of(&device, "hot")).await;

    let alarm = answer.json();
    assert_eq!(answer.status, 201);
    assert!(alarm["id"].is_null(), "{alarm}");
    assert_eq!(alarm["self"], json!(format!("{}/alarm/alarms/null", server.base())));
    assert_eq!((&alarm["type"], &alarm["count"]), (&json!("hot"), &json!(1)), "no counter: {alarm}");
    assert_eq!(admin.read("/alarm/alarms").await["alarms"], json!([stored]));
}

#[tokio::test]
async fn transient_managed_object_is_returned_without_id_and_not_stored() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let body = json!({"name": "pump", "plat_A": {"x": 1}});

    let answer = send(&admin, "POST", "/inventory/managedObjects", "TRANSIENT", &body).await;

    let object = answer.json();
    assert_eq!(answer.status, 201);
    assert!(object["id"].is_null(), "{object}");
    assert_eq!((&object["name"], &object["plat_A"]["x"]), (&json!("pump"), &json!(1)));
    assert!(object["self"].as_str().unwrap().ends_with("/inventory/managedObjects/null"), "{object}");
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn transient_alarm_is_notified_as_create() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    admin.raise_alarm(&device, "hot").await;
    let session = admin.listen(&format!("/alarms/{device}")).await;

    let alarm = send(&admin, "POST", "/alarm/alarms", "transient", &alarm_of(&device, "hot")).await.json();

    let answer = session.connect().await;
    let data = json!({"realtimeAction": "CREATE", "data": alarm});
    let expected = json!({"channel": format!("/alarms/{device}"), "id": "1", "data": data});
    assert_eq!(redacted(&notifications(&answer)[0], &[]), redacted(&expected, &[]));
}

#[tokio::test]
async fn transient_change_is_returned_and_published_but_not_stored() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    let session = admin.session().await;
    session.subscribe("/alarms/*").await;
    session.subscribe("/managedobjects/*").await;
    let (alarm_path, object_path) =
        (alarm["self"].as_str().unwrap(), format!("/inventory/managedObjects/{device}"));
    let object = admin.read(&object_path).await;

    let changed = send(&admin, "PUT", alarm_path, "TRANSIENT", &json!({"text": "Cooler"})).await;
    let renamed = send(&admin, "PUT", &object_path, "TRANSIENT", &json!({"name": "motor"})).await;

    assert_eq!((changed.status, changed.json()["text"].clone()), (200, json!("Cooler")));
    assert_eq!((renamed.status, renamed.json()["name"].clone()), (200, json!("motor")));
    assert_eq!(admin.read(alarm_path).await, alarm);
    assert_eq!(admin.read(&object_path).await, object);
    assert_eq!(server.count("audit_records").await, 0);
    let told = session.receive(2).await;
    assert_eq!(
        (&told[0]["data"]["data"]["text"], &told[1]["data"]["data"]["name"]),
        (&json!("Cooler"), &json!("motor"))
    );
}

#[tokio::test]
async fn transient_delete_deletes_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("/inventory/managedObjects/{}", admin.create_device("pump").await);

    admin.request("DELETE", &path).header(HEADER, "TRANSIENT").send().await.expect(204);

    assert_eq!(admin.get(&path).await.status, 200);
}

#[tokio::test]
async fn persistent_and_quiescent_alarms_are_stored_and_notified() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;

    for (n, mode) in ["PERSISTENT", "persistent", "Quiescent"].into_iter().enumerate() {
        let answer =
            send(&admin, "POST", "/alarm/alarms", mode, &alarm_of(&device, &format!("type {n}"))).await;
        assert_eq!(answer.status, 201, "{mode}");
        let told = session.receive(1).await;
        assert_eq!(told[0]["data"], json!({"realtimeAction": "CREATE", "data": answer.json()}), "{mode}");
        assert_eq!(
            without(&admin.read(answer.header("Location").unwrap()).await, &[]),
            answer.json(),
            "{mode}"
        );
    }
}

#[tokio::test]
async fn unknown_mode_is_422_and_named() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = || alarm_of(&device, "hot");
    let option = || json!({"category": "mail", "key": "host", "value": "a"});
    let user = json!({"userName": "joe", "password": "secret-1"});

    check_rows(
        [
            ("alarm", ("POST", "/alarm/alarms", "SOMETIMES", alarm())),
            ("alarm in no mode", ("POST", "/alarm/alarms", "", alarm())),
            ("alarm in two modes", ("POST", "/alarm/alarms", "PERSISTENT,TRANSIENT", alarm())),
            (
                "measurement",
                ("POST", MEASUREMENTS, "SOMEHOW", measurement_of(&device, "2024-03-10T03:00:00Z", 1)),
            ),
            ("user", ("POST", "/user/<tenant>/users", "SOMETIMES", user)),
            ("new option", ("POST", "/tenant/options", "SOMETIMES", option())),
            ("option", ("PUT", "/tenant/options/mail/host", "SOMETIMES", option())),
            ("deletion of an option", ("DELETE", "/tenant/options/mail/host", "SOMETIMES", option())),
            ("category of options", ("PUT", "/tenant/options/mail", "SOMETIMES", option())),
        ],
        async |(method, path, mode, body)| {
            let answer = send(&admin, method, path, mode, &body).await.expect_message(422, mode);
            assert!(answer.message().contains("TRANSIENT"), "{}", answer.message());
        },
    )
    .await;
    for table in ["alarms", "measurements", "options"] {
        assert_eq!(server.count(table).await, 0, "{table}");
    }
}

#[tokio::test]
async fn cep_mode_is_422_on_alarms_and_managed_objects() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let alarm = send(&admin, "POST", "/alarm/alarms", "CEP", &alarm_of(&device, "hot")).await;
    let object = send(&admin, "POST", "/inventory/managedObjects", "CEP", &json!({})).await;

    assert_eq!((alarm.status, object.status), (422, 422));
}

#[tokio::test]
async fn mode_changes_nothing_where_a_resource_has_none() {
    let (_server, admin) = TestServer::start().await.with_admin();

    for (n, mode) in ["TRANSIENT", "cep", "QUIESCENT", "PERSISTENT"].into_iter().enumerate() {
        for (path, body) in [
            ("/user/main/users", json!({"userName": format!("u{n}"), "password": "secret-1"})),
            ("/user/main/groups", json!({"name": format!("g{n}")})),
            ("/devicecontrol/newDeviceRequests", json!({"id": format!("d{n}")})),
            ("/tenant/options", json!({"category": "c", "key": format!("k{n}"), "value": "v"})),
            ("/application/tokenClients", json!({"name": format!("c{n}")})),
        ] {
            let answer = send(&admin, "POST", path, mode, &body).await;
            assert_eq!(answer.status, 201, "{mode} {path}: {}", answer.text);
            let location = answer.header("Location").unwrap();
            assert_eq!(admin.get(location).await.status, 200, "{mode} {path} is stored");
            let gone = admin.request("DELETE", location).header(HEADER, mode).send().await;
            assert!([200, 204].contains(&gone.status), "{mode} {path}: {}", gone.text);
            assert_eq!(admin.get(location).await.status, 404, "{mode} {path}");
        }
    }
    send(&admin, "POST", "/user/main/groups", "SOMETIMES", &json!({"name": "g"})).await.expect(422);
}
