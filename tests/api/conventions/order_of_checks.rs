//! The order in which a request is checked (E-04, C-07a).

use super::*;
use crate::harness::operations::OPERATIONS;

#[tokio::test]
async fn authentication_comes_before_everything() {
    let server = TestServer::shared().await;
    let stranger = server.stranger();

    for (method, path) in [
        ("PATCH", "/alarm/alarms"),
        ("GET", "/alarm/alarms?status=BAD"),
        ("POST", "/alarm/alarms"),
        ("GET", "/unknown"),
        ("GET", "/inventory/managedObjects/4711"),
    ] {
        let request = stranger.request(method, path).header("Accept", "text/html").body("{");
        assert_eq!(request.send().await.status, 401, "{method} {path}");
    }
}

#[tokio::test]
async fn suspended_tenant_comes_before_the_method() {
    let server = TestServer::start().await;
    let caller = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    server.database().execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = 'main'", &[]).await;

    caller.request("PATCH", "/alarm/alarms").send().await.expect(403);
}

#[tokio::test]
async fn method_comes_before_the_role() {
    let server = TestServer::shared().await;
    let caller = server.user_with("joe", &[]).await;

    caller.request("PATCH", "/alarm/alarms").send().await.expect(405);
}

#[tokio::test]
async fn role_comes_before_the_syntax_of_the_body() {
    let server = TestServer::shared().await;
    let caller = server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;

    caller.request("POST", "/inventory/managedObjects").body("{").send().await.expect(403);
}

#[tokio::test]
async fn syntax_of_the_body_comes_before_its_validation() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let request = admin.request("POST", "/alarm/alarms");
    request.body(r#"{"severity": "BAD", "source": {"id": "4711"}"#).send().await.expect(400);
}

#[tokio::test]
async fn validation_of_the_body_comes_before_the_existence_of_the_source() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut alarm = alarm_of("4711", "hot");
    alarm["severity"] = json!("BAD");

    admin.post("/alarm/alarms", &alarm).await.expect_message(422, "severity");
}

#[tokio::test]
async fn object_that_must_not_be_seen_is_403_and_an_absent_one_404() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let caller = server.user_with("joe", &[]).await;

    for method in ["GET", "PUT", "DELETE"] {
        let request =
            |id: &str| caller.request(method, &format!("/inventory/managedObjects/{id}")).body("{}");
        assert_eq!(request(&device).send().await.status, 403, "{method} of what exists");
        assert_eq!(request("4711").send().await.status, 404, "{method} of what does not");
    }
}

#[tokio::test]
async fn alarm_that_must_not_be_changed_is_403_and_an_absent_one_404() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let alarm = admin.raise_alarm(&admin.create_device("pump").await, "hot").await;
    let caller = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let body = json!({"status": "CLEARED"});

    let existing = caller.put(&format!("/alarm/alarms/{}", alarm["id"].as_str().unwrap()), &body).await;
    let absent = caller.put("/alarm/alarms/4711", &body).await;

    assert_eq!((existing.status, absent.status), (403, 404));
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
