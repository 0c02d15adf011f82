//! Objects of other tenants are reported as absent.

use super::*;

#[tokio::test]
async fn tenants_of_others_look_absent() {
    let server = TestServer::start().await;
    let (one, other) = (create_reseller(&server, "one").await, create_reseller(&server, "other").await);
    other.create(TENANTS, &tenant_of("child")).await;

    for id in ["child", "other", "one", "main", "management"] {
        let path = format!("{TENANTS}/{id}");
        let (read, changed) = (one.get(&path).await, one.put(&path, &json!({"company": "Mine"})).await);
        let unknown = one.get(&format!("{TENANTS}/unknown")).await;
        assert_eq!((read.status, changed.status), (404, 404), "{id}");
        let nameless = |text: &str, id: &str| text.replace(&format!("'{id}'"), "'<id>'");
        assert_eq!(nameless(&read.text, id), nameless(&unknown.text, "unknown"), "{id}");
    }
    let child = other.read(&format!("{TENANTS}/child")).await;
    assert_eq!(child["company"], "Acme");
}

#[tokio::test]
async fn objects_and_alarms_of_others_look_absent() {
    let server = TestServer::start().await;
    let (one, other) = (create_tenant(&server, "one").await, create_tenant(&server, "other").await);
    let device = other.create_device("pump").await;
    let alarm = other.raise_alarm(&device, "hot").await;
    let alarm = format!("/alarm/alarms/{}", alarm["id"].as_str().unwrap());
    let object = format!("/inventory/managedObjects/{device}");

    assert_eq!((one.get(&object).await.status, one.get(&alarm).await.status), (404, 404));
    assert_eq!(one.put(&object, &json!({"name": "mine"})).await.status, 404);
    assert_eq!(one.put(&alarm, &json!({"status": "CLEARED"})).await.status, 404);
    assert_eq!(one.delete(&object).await.status, 404);
    assert_eq!(one.read("/inventory/managedObjects").await["managedObjects"], json!([]));
    assert_eq!(one.read("/alarm/alarms").await["alarms"], json!([]));
    assert_eq!(other.read(&object).await["name"], "pump");
}

#[tokio::test]
async fn options_of_others_look_absent() {
    let server = TestServer::start().await;
    let (one, other) = (create_tenant(&server, "one").await, create_tenant(&server, "other").await);
    let option = json!({"category": "mail", "key": "host", "value": "mail.example.com"});
    let stored = other.create("/tenant/options", &option).await;
    let path = "/tenant/options/mail/host";

    assert_eq!((one.get(path).await.status, one.delete(path).await.status), (404, 404));
    assert_eq!(one.read("/tenant/options/mail").await, json!({}));
    let listed = one.read("/tenant/options?pageSize=100").await;
    assert!(!listed.to_string().contains("mail"), "{listed}");
    one.put(path, &json!({"value": "mine"})).await;
    assert_eq!(without(&other.read(path).await, &["self"]), without(&stored, &["self"]));
}

#[tokio::test]
async fn users_of_one_tenant_are_unknown_in_the_other() {
    let (server, _) = with_tenant("one").await;
    let mut body = tenant_of("other");
    body["adminName"] = json!("chief");
    super::management(&server).create(TENANTS, &body).await;

    let chief = server.caller("one/chief", crate::harness::ADMIN_PASSWORD);

    assert_eq!(chief.get("/tenant/currentTenant").await.status, 401);
}
