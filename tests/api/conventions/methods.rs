//! `X-HTTP-METHOD` and slashes (docs/rules.md#conventions; C-06, X-27).

use super::*;

#[tokio::test]
async fn post_with_method_header_acts_as_that_method() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("/inventory/managedObjects/{}", admin.create_device("pump").await);
    let post = |method: &str| admin.request("POST", &path).accepting_json().header("X-HTTP-METHOD", method);

    let put = post("put").json(&json!({"name": "motor"})).send().await;
    let get = post("GET").send().await;
    let delete = post("Delete").send().await;

    assert_eq!((put.status, put.json()["name"].clone()), (200, json!("motor")));
    assert_eq!((get.status, get.json()["name"].clone()), (200, json!("motor")));
    assert_eq!((delete.status, delete.text.as_str()), (204, ""));
    assert_eq!(admin.get(&path).await.status, 404);
}

#[tokio::test]
async fn method_header_counts_on_post_only() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("/inventory/managedObjects/{}", admin.create_device("pump").await);

    let answer = admin.request("GET", &path).header("X-HTTP-METHOD", "DELETE").send().await;

    assert_eq!((answer.status, answer.json()["name"].clone()), (200, json!("pump")));
    assert_eq!(admin.get(&path).await.status, 200);
}

#[tokio::test]
async fn other_methods_in_the_header_are_405() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for method in ["PATCH", "OPTIONS", "HEAD", "POST", "brew", ""] {
        let request = admin.request("POST", "/inventory/managedObjects").header("X-HTTP-METHOD", method);
        request.json(&json!({})).send().await.expect(405);
    }
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let event = admin.create_event(&device, "file").await["id"].as_str().unwrap().to_owned();
    let file = format!("/event/events/{event}/binaries");
    let upload = admin.request("POST", &file).header("Content-Type", "application/octet-stream");
    assert_eq!(upload.body(vec![b'7'; 300_000]).send().await.status, 201);

    for path in [
        "/platform".to_owned(),
        "/inventory/managedObjects".to_owned(),
        format!("/inventory/managedObjects/{device}"),
        file,
        "/inventory/managedObjects/0".to_owned(),
        "/alarm/alarms?pageSize=x".to_owned(),
        "/user/currentUser".to_owned(),
    ] {
        let (get, head) = (admin.get(&path).await, admin.request("HEAD", &path).send().await);
        let told = |answer: &Response| {
            ["Content-Type", "Content-Length"].map(|name| answer.header(name).map(ToOwned::to_owned))
        };
        assert_eq!((head.status, told(&head)), (get.status, told(&get)), "{path}");
        assert_eq!(head.text, "", "{path}");
        // The next request on the same connection is not affected.
        assert_eq!(admin.get(&path).await.text, get.text, "{path}");
    }
    assert_eq!(server.stranger().request("HEAD", "/alarm/alarms").send().await.status, 401);
    assert_eq!(admin.request("HEAD", "/devicecontrol/deviceCredentials").send().await.status, 405);
}

#[tokio::test]
async fn trailing_and_repeated_slashes_are_ignored() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for path in [
        "/inventory/managedObjects/".to_owned(),
        "//inventory///managedObjects".to_owned(),
        format!("/inventory/managedObjects/{device}/"),
        format!("//inventory/managedObjects//{device}//"),
        "/alarm/alarms/?pageSize=1".to_owned(),
    ] {
        admin.get(&path).await.expect(200);
    }
}
