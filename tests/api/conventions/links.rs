//! `self` links and `Location` (C-15).

use super::*;

/// Returns all links in a response.
fn links(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) if text.starts_with("http") => vec![text],
        Value::Array(items) => items.iter().flat_map(links).collect(),
        Value::Object(members) => members.values().flat_map(links).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn links_start_with_the_host_of_the_request() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let request = admin.request("POST", "/alarm/alarms").header("Host", "things.example.com:8443");
    let alarm = request.accepting_json().json(&alarm_of(&device, "hot")).send().await;
    let request = admin.request("GET", "/alarm/alarms?pageSize=1").header("Host", "things.example.com:8443");
    let list = request.send().await;

    let (alarm_json, list_json) = (alarm.json(), list.json());
    for link in links(&alarm_json).into_iter().chain(links(&list_json)).chain(alarm.header("Location")) {
        assert!(link.starts_with("http://things.example.com:8443/"), "{link}");
    }
    assert_eq!(links(&alarm_json).len(), 3, "self, source and history: {alarm_json}");
}

#[tokio::test]
async fn forwarded_host_of_a_stranger_is_not_trusted() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let path = format!("/inventory/managedObjects/{}", admin.create_device("pump").await);

    let request = admin.request("GET", &path).header("X-Forwarded-Host", "evil.example.com");
    let object = request.header("X-Forwarded-Proto", "https").send().await.json();

    assert_eq!(object["self"], json!(format!("{}{path}", server.base())));
}

#[tokio::test]
async fn forwarded_host_and_scheme_of_a_trusted_proxy_are_trusted() {
    let server = TestServer::start_with(|settings| {
        settings.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let admin = server.admin();
    let path = format!("/inventory/managedObjects/{}", admin.create_device("pump").await);

    let request = admin.request("GET", &path).header("X-Forwarded-Host", "things.example.com");
    let object = request.header("X-Forwarded-Proto", "https").send().await.json();

    assert_eq!(object["self"], json!(format!("https://things.example.com{path}")));
}

#[tokio::test]
async fn invalid_host_does_not_get_into_links() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("/inventory/managedObjects/{}", admin.create_device("pump").await);

    let answer = admin.request("GET", &path).header("Host", "a\"><script>").send().await;

    assert!([200, 400].contains(&answer.status), "{}: {}", answer.status, answer.text);
    assert!(!answer.text.contains("script"), "{}", answer.text);
}

#[tokio::test]
async fn location_is_the_self_link_of_the_created_object() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.post("/inventory/managedObjects", &json!({})).await;

    let object = answer.json();
    assert_eq!(answer.header("Location"), object["self"].as_str());
    let expected = format!("{}/inventory/managedObjects/{}", server.base(), object["id"].as_str().unwrap());
    assert_eq!(object["self"], json!(expected));
    assert_eq!(admin.read(&expected).await, object);
}

#[tokio::test]
async fn self_link_of_every_reference_returns_its_object() {
    let (_server, admin) = TestServer::start().await.with_admin();
    admin.create("/user/main/users", &json!({"userName": "joe", "password": "secret-1"})).await;
    let group = admin.create("/user/main/groups", &json!({"name": "night shift"})).await["id"].to_string();
    let application =
        json!({"name": "web", "key": "web", "type": "EXTERNAL", "externalUrl": "https://e.com/"});
    let application = admin.create("/application/applications", &application).await;
    let device = admin.create_device("pump").await;
    let child = admin.create_device("motor").await;

    for (path, body) in [
        (format!("/user/main/groups/{group}/users"), json!({"user": {"id": "joe"}})),
        (format!("/user/main/groups/{group}/roles"), json!({"role": {"name": "ROLE_ALARM_READ"}})),
        ("/user/main/users/joe/roles".into(), json!({"role": {"name": "ROLE_ALARM_READ"}})),
        ("/tenant/tenants/main/applications".into(), json!({"application": {"id": application["id"]}})),
        (format!("/inventory/managedObjects/{device}/childAssets"), json!({"managedObject": {"id": child}})),
    ] {
        let answer = admin.post(&path, &body).await.expect(201);
        let location = answer.header("Location").unwrap();
        let listed = admin.read(&format!("{path}?pageSize=100")).await;
        let listed = listed["references"].as_array().unwrap().iter().find(|one| one["self"] == location);
        assert_eq!(Some(&admin.read(location).await), listed, "{location}");
        assert_eq!(admin.get(&format!("{location}x")).await.status, 404, "{location}x");
    }
}
