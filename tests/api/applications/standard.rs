//! The applications every deployment starts with (W-16).

use futures_util::future::try_join_all;
use platform_front::config::Settings;
use platform_front::secrets::password::SecretKey;
use platform_operator::administration::first_start;
use platform_store::realtime::servers::Introduction;
use platform_store::{Connections, Database};

use super::*;

async fn standard_seen_by(caller: &Caller) -> Vec<Value> {
    let page = caller.read("/application/applicationsByOwner/management?pageSize=100").await;
    page["applications"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_tenant_sees_the_standard_applications() {
    let (server, _database) = with_two_tenants().await;

    for caller in [server.admin(), plant7(&server), management(&server)] {
        let standard = standard_seen_by(&caller).await;
        let shown: Vec<(&str, &str, &str)> = standard
            .iter()
            .map(|shown| {
                let text = |member: &str| shown[member].as_str().unwrap_or_default();
                (text("name"), text("type"), text("contextPath"))
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("administration", "HOSTED", "administration"),
                ("cockpit", "HOSTED", "cockpit"),
                ("devicemanagement", "HOSTED", "devicemanagement"),
                ("cep", "MICROSERVICE", "cep"),
                ("device-simulator", "MICROSERVICE", "device-simulator"),
                ("smartrule", "MICROSERVICE", "smartrule"),
                ("feature-cep-custom-rules", "EXTERNAL", ""),
                ("feature-fieldbus4", "EXTERNAL", ""),
            ]
        );
        assert!(standard.iter().all(|shown| shown["availability"] == "MARKET"));
    }
}

#[tokio::test]
async fn standard_microservices_have_bootstrap_users_and_keys_of_their_own() {
    let server = TestServer::start().await;

    let names = "SELECT name FROM users WHERE tenant = 'management' AND duty = 'BOOTSTRAP' ORDER BY name";
    let rows = server.database().query(names, &[]).await;
    let names: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        names,
        ["servicebootstrap_cep", "servicebootstrap_device-simulator", "servicebootstrap_smartrule"]
    );
    let mut keys: Vec<String> = standard_seen_by(&management(&server))
        .await
        .iter()
        .map(|shown| shown["key"].as_str().unwrap().to_owned())
        .collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), STANDARD);
    assert!(keys.iter().all(|key| key.len() == 20), "{keys:?}");
}

#[tokio::test]
async fn what_the_operator_deleted_or_renamed_stays_so_after_the_next_start() {
    let server = TestServer::start().await;
    let operator = management(&server);
    let standard = standard_seen_by(&operator).await;
    let path = |n: usize| format!("{APPLICATIONS}/{}", standard[n]["id"].as_str().unwrap());
    assert_eq!(operator.delete(&path(0)).await.status, 204);
    assert_eq!(operator.put(&path(1), &json!({"name": "control room"})).await.status, 200);
    let before = standard_seen_by(&operator).await;

    let next = TestServer::start_on(&server.shared_database(), |_| {}).await;

    let after = standard_seen_by(&management(&next)).await;
    let bare = |shown: &[Value]| -> Vec<Value> {
        shown.iter().map(|shown| without(shown, &["self", "owner"])).collect()
    };
    assert_eq!(bare(&after), bare(&before));
    assert_eq!(after.len(), STANDARD - 1);
}

#[tokio::test]
async fn only_the_tenant_management_may_change_them() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let standard = standard_seen_by(&admin).await;
    let path = format!("{APPLICATIONS}/{}", standard[0]["id"].as_str().unwrap());

    assert_eq!(admin.put(&path, &json!({"name": "mine"})).await.status, 403);
    assert_eq!(admin.delete(&path).await.status, 403);
}

#[tokio::test]
async fn servers_that_start_at_once_make_them_once() {
    let database = TestDatabase::create().await;
    for statement in
        ["DELETE FROM applications", "DELETE FROM deployment WHERE name = 'standard applications'"]
    {
        database.execute(statement, &[]).await;
    }
    let (key, settings) =
        (SecretKey::load(&database.data_dir().join("secret.key")).unwrap().unwrap(), Settings::default());
    let (connections, limits) = (Connections { reads: 2, devices: 2 }, settings.limits());

    let starts = (0..4).map(async |_| {
        let server = Database::new(database.url(), connections, &limits)?;
        let introduction =
            Introduction { name: "test".into(), version: "1".into(), address: "http://127.0.0.1".into() };
        server.join(introduction).await?;
        first_start(&server, &key, &settings, &mut |_| Ok(())).await
    });
    try_join_all(starts).await.unwrap();

    assert_eq!(database.count("applications").await, STANDARD as i64);
    let bootstrap = "SELECT count(*) FROM users WHERE duty = 'BOOTSTRAP'";
    assert_eq!(database.query(bootstrap, &[]).await[0].get::<_, i64>(0), 3);
}
