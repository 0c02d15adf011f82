//! Row 61: a device asks for its credentials (docs/rules.md#rows-and-responses; S-45, N-01).

use super::*;

const REQUESTS: &str = "/devicecontrol/newDeviceRequests";

/// The user that devices without credentials share.
fn bootstrap(server: &TestServer) -> Caller {
    server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD)
}

async fn register(server: &TestServer, id: &str) {
    server.admin().create(REQUESTS, &json!({"id": id})).await;
}

async fn accept(server: &TestServer, id: &str) {
    server.admin().put(&format!("{REQUESTS}/{id}"), &json!({"status": "ACCEPTED"})).await.expect(200);
}

async fn status(server: &TestServer, id: &str) -> String {
    let request = server.admin().read(&format!("{REQUESTS}/{id}")).await;
    request["status"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn device_polls_until_it_is_accepted_and_is_given_its_credentials() {
    let (server, admin) = TestServer::start().await.with_admin();
    let device = bootstrap(&server);

    assert_eq!(send(&device, "61,sn-1").await, "50,1,404\n", "before the registration");
    register(&server, "sn-1").await;
    assert_eq!(send(&device, "61,sn-1").await, "50,1,404\n", "before the acceptance");
    assert_eq!(status(&server, "sn-1").await, "PENDING_ACCEPTANCE", "as after the poll of REST");
    accept(&server, "sn-1").await;
    let answer = send(&device, "61,sn-1\n").await;

    let password = answer.strip_prefix("70,1,sn-1,main,device_sn-1,").unwrap_or_else(|| panic!("{answer}"));
    let password = password.strip_suffix('\n').unwrap();
    assert!(password.len() == 20 && password.chars().all(|c| c.is_ascii_alphanumeric()), "{password}");
    let own = server.caller("main/device_sn-1", password);
    assert_eq!(own.get("/tenant/currentTenant").await.status, 200);
    let users = admin.read("/user/main/users?onlyDevices=true").await;
    assert_eq!(member_texts(&users, "users", "userName"), ["device_sn-1"]);
}

#[tokio::test]
async fn lost_response_is_repeated_with_the_same_bytes() {
    let server = TestServer::start().await;
    register(&server, "sn-1").await;
    accept(&server, "sn-1").await;

    let (first, again) =
        (send(&bootstrap(&server), "61,sn-1").await, send(&bootstrap(&server), "61,sn-1").await);

    assert!(first.starts_with("70,1,"), "{first}");
    assert_eq!(first, again);
}

#[tokio::test]
async fn id_that_needs_quotes_comes_back_in_quotes() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = "sn,1";
    register(&server, id).await;
    admin.put(&format!("{REQUESTS}/sn%2C1"), &json!({"status": "ACCEPTED"})).await.expect(200);

    let answer = send(&bootstrap(&server), "61,\"sn,1\"").await;

    assert!(answer.starts_with("70,1,\"sn,1\",main,\"device_sn,1\","), "{answer}");
}

#[tokio::test]
async fn several_devices_get_a_line_each() {
    let server = TestServer::start().await;
    for id in ["sn-1", "sn-2"] {
        register(&server, id).await;
        accept(&server, id).await;
    }

    let answer = send(&bootstrap(&server), "\n61,sn-1\n61,sn-9\n61,sn-2").await;

    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!((lines.len(), lines[1]), (3, "50,3,404"));
    assert!(lines[0].starts_with("70,2,sn-1,main,device_sn-1,"), "{answer}");
    assert!(lines[2].starts_with("70,4,sn-2,main,device_sn-2,"), "{answer}");
}

#[tokio::test]
async fn everybody_else_gets_403() {
    let server = TestServer::start().await;
    register(&server, "sn-1").await;
    accept(&server, "sn-1").await;

    for caller in [
        server.admin(),
        server.caller("management/admin", ADMIN_PASSWORD),
        server.user_with("writer", &["ROLE_DEVICE_CONTROL_ADMIN", "ROLE_DEVICE_CONTROL_READ"]).await,
    ] {
        assert_eq!(send(&caller, "61,sn-1").await, "50,1,403\n");
    }
    assert_eq!(status(&server, "sn-1").await, "ACCEPTED", "the credentials are still there");
    request(&server.stranger(), "61,sn-1").send().await.expect_error(401, "security/Unauthorized");
}

#[tokio::test]
async fn other_rows_beside_it_are_403_and_nothing_of_them_happens() {
    let server = TestServer::start().await;
    register(&server, "sn-1").await;

    let answer = send(&bootstrap(&server), "15,a\n400,acme,Text\n61,sn-1\n80\nx\n99").await;

    assert_eq!(answer, "50,1,403\n50,2,403\n50,3,404\n50,4,403\n42,5,Malformed Request\n50,6,403\n");
    assert_eq!(server.count("events").await, 0);
}

#[tokio::test]
async fn body_with_the_header_x_id_is_not_a_message() {
    let server = TestServer::start().await;
    register(&server, "sn-1").await;
    accept(&server, "sn-1").await;

    assert_eq!(send_to(&bootstrap(&server), "a", "61,sn-1").await, "43,1,Invalid message identifier\n");
}

#[tokio::test]
async fn arguments_are_one_id() {
    let server = TestServer::start().await;

    for (row, answer) in [
        ("61", "45,1,Wrong number of arguments\n"),
        ("61,a,b", "45,1,Wrong number of arguments\n"),
        ("61,", "45,1,Wrong number of arguments\n"),
    ] {
        assert_eq!(send(&bootstrap(&server), row).await, answer, "{row}");
    }
}

#[tokio::test]
async fn bootstrap_user_gets_nothing_else_out_of_rows() {
    let server = TestServer::start().await;
    let bootstrap = bootstrap(&server);

    for row in ["400,acme,Text", "301,t,x", "100", "105", "500", "114,plat_Restart"] {
        assert_eq!(send(&bootstrap, row).await, "50,1,403\n", "{row}");
    }
    let template = "10,100,POST,/inventory/managedObjects,application/json,,,,{}";
    assert_eq!(send_to(&bootstrap, "a", template).await, "50,1,403\n");
    for table in ["events", "managed_objects"] {
        assert_eq!(server.count(table).await, 0, "{table}");
    }
}
