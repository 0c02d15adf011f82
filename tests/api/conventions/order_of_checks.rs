//! The order in which a request is checked (E-04, C-07a).

use super::*;
use crate::harness::operations::OPERATIONS;

#[tokio::test]
async fn suspended_tenant_comes_before_the_method() {
    let server = TestServer::shared().await;
    let caller = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    server.execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = $1", &[]).await;

    caller.request("PATCH", "/alarm/alarms").send().await.expect(403);
}

#[tokio::test]
async fn each_check_comes_before_the_next() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let reader = server.user_with("reader", &["ROLE_INVENTORY_READ"]).await;
    let stranger = server.stranger();
    let (cut, bad) = (r#"{"severity": "BAD", "source": {"id": "4711"}"#, {
        let mut alarm = alarm_of("4711", "hot");
        alarm["severity"] = json!("BAD");
        alarm.to_string()
    });

    check_rows(
        [
            ("authentication before the method", (&stranger, "PATCH", "/alarm/alarms", "{", 401)),
            (
                "authentication before the parameters",
                (&stranger, "GET", "/alarm/alarms?status=BAD", "{", 401),
            ),
            ("authentication before the body", (&stranger, "POST", "/alarm/alarms", "{", 401)),
            ("authentication before the path", (&stranger, "GET", "/unknown", "{", 401)),
            (
                "authentication before the object",
                (&stranger, "GET", "/inventory/managedObjects/4711", "{", 401),
            ),
            ("method before the role", (&reader, "PATCH", "/alarm/alarms", "", 405)),
            ("role before the syntax of the body", (&reader, "POST", "/inventory/managedObjects", "{", 403)),
            ("syntax of the body before its validation", (&admin, "POST", "/alarm/alarms", cut, 400)),
            ("validation before the existence of the source", (&admin, "POST", "/alarm/alarms", &bad, 422)),
        ],
        async |(caller, method, path, body, status)| {
            let accept = if status == 401 { "text/html" } else { "*/*" };
            let answer =
                caller.request(method, path).header("Accept", accept).body(body).send().await.expect(status);
            assert!(status != 422 || answer.message().contains("severity"), "{}", answer.text);
        },
    )
    .await;
    let emulated = stranger.request("POST", OBJECTS).header("X-HTTP-METHOD", "PATCH");
    emulated.json(&json!({})).send().await.expect(401);
}

#[tokio::test]
async fn what_must_not_be_seen_or_changed_is_403_and_what_is_absent_404() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await["id"].as_str().unwrap().to_owned();
    let (nobody, reader) =
        (server.user_with("nobody", &[]).await, server.user_with("reader", &["ROLE_ALARM_READ"]).await);

    for (caller, method, collection, existing, body) in [
        (&nobody, "GET", OBJECTS, &device, "{}"),
        (&nobody, "PUT", OBJECTS, &device, "{}"),
        (&nobody, "DELETE", OBJECTS, &device, "{}"),
        (&reader, "PUT", "/alarm/alarms", &alarm, r#"{"status":"CLEARED"}"#),
    ] {
        for (id, status) in [(&**existing, 403), ("4711", 404)] {
            caller.request(method, &format!("{collection}/{id}")).body(body).send().await.expect(status);
        }
    }
}

/// Bodies that are invalid for every resource.
const BODIES: [&str; 3] = ["{", "[]", r#"{"status":"bad","text":1,"name":1,"startDate":1,"enabled":1}"#];

#[tokio::test]
async fn who_may_not_change_a_thing_learns_nothing_of_the_body() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("pump").await;
    let created = [
        admin.create("/alarm/alarms", &alarm_of(&agent, "hot")).await,
        admin.create("/event/events", &event_of(&agent, "door")).await,
        admin.create(OPERATIONS, &json!({"deviceId": agent})).await,
        admin.read(&format!("/inventory/managedObjects/{agent}")).await,
    ];
    let nobody = server.user_with("nobody", &[]).await;

    for thing in &created {
        let link = thing["self"].as_str().unwrap();
        for body in BODIES {
            nobody.request("PUT", link).body(body).send().await.expect(403);
        }
        assert_eq!(admin.read(link).await["self"], thing["self"]);
    }
}

#[tokio::test]
async fn what_there_is_not_is_404_whatever_the_body() {
    let (server, admin) = TestServer::start().await.with_admin();

    for (method, path) in [
        ("PUT", "/alarm/alarms/4711"),
        ("PUT", "/event/events/4711"),
        ("PUT", "/devicecontrol/operations/4711"),
        ("PUT", "/devicecontrol/bulkoperations/4711"),
        ("PUT", "/devicecontrol/newDeviceRequests/4711"),
        ("PUT", "/inventory/managedObjects/4711"),
        ("POST", "/inventory/managedObjects/4711/childDevices"),
        ("POST", "/identity/globalIds/4711/externalIds"),
        ("PUT", "/application/applications/4711"),
        ("PUT", "/cep/modules/4711"),
        ("PUT", "/user/main/users/nobody"),
        ("POST", "/user/main/users/nobody/roles"),
        ("PUT", "/user/main/groups/4711"),
        ("POST", "/user/main/groups/4711/roles"),
        ("POST", "/user/main/groups/4711/users"),
        ("PUT", "/tenant/tenants/nothing"),
        ("POST", "/tenant/tenants/nothing/applications"),
    ] {
        for body in BODIES {
            let caller = if path.starts_with("/tenant/") {
                server.caller("management/admin", ADMIN_PASSWORD)
            } else {
                admin.clone()
            };
            caller.request(method, path).body(body).send().await.expect(404);
        }
    }
}

#[tokio::test]
async fn application_of_another_tenant_is_404_whatever_the_body() {
    let (server, admin) = TestServer::start_with_tenant("plant7", "plant7.example.com").await.with_admin();
    let body = json!({"name": "a", "key": "a", "type": "HOSTED", "contextPath": "a", "resourcesUrl": "/"});
    let application = admin.create("/application/applications", &body).await;
    let foreign = server.caller("plant7/admin", ADMIN_PASSWORD);

    for body in BODIES {
        foreign.request("PUT", application["self"].as_str().unwrap()).body(body).send().await.expect(404);
    }
}

#[tokio::test]
async fn read_role_reads_and_admin_role_writes() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("pump").await;
    let operation = json!({"deviceId": agent, "plat_Restart": {}});
    let cleared = json!({"status": "CLEARED"});

    // The last member of a row is what can be deleted: one, or only all.
    check_rows(
        [
            ("alarm", ("ROLE_ALARM", "/alarm/alarms", alarm_of(&agent, "hot"), cleared, None)),
            (
                "event",
                ("ROLE_EVENT", "/event/events", event_of(&agent, "t"), json!({"text": "x"}), Some("one")),
            ),
            (
                "operation",
                ("ROLE_DEVICE_CONTROL", OPERATIONS, operation, json!({"status": "EXECUTING"}), Some("all")),
            ),
        ],
        async |(role, collection, body, change, deleted)| {
            let reader = server.user_with(&format!("reader_{role}"), &[&format!("{role}_READ")]).await;
            let writer = server.user_with(&format!("writer_{role}"), &[&format!("{role}_ADMIN")]).await;
            let before = admin.create(collection, &body).await;
            let link = before["self"].as_str().unwrap();
            for (caller, reads, writes) in [(&reader, true, false), (&writer, false, true)] {
                let status = |may: bool, status: u16| if may { status } else { 403 };
                caller.get(collection).await.expect(status(reads, 200));
                caller.get(link).await.expect(status(reads, 200));
                caller.post(collection, &body).await.expect(status(writes, 201));
                if reads {
                    assert_eq!(caller.read(link).await, before);
                    assert!(caller.read(collection).await.to_string().contains(link));
                }
                caller.put(link, &change).await.expect(status(writes, 200));
                if let Some(deleted) = deleted {
                    let path = if deleted == "one" { link } else { collection };
                    caller.delete(path).await.expect(status(writes, 204));
                }
                if !writes {
                    assert_eq!(admin.read(link).await, before);
                }
            }
        },
    )
    .await;
}
