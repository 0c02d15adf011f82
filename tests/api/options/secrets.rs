//! Options whose keys start with `credentials.` (Z-05).

use platform_front::secrets::password::SecretKey;
use serde_json::json;

use super::{OPTIONS, option_of};
use crate::harness::TestServer;

const SECRET: &str = "/tenant/options/mail/credentials.password";
const SHOWN: &str = "<<Encrypted>>";

/// The value as it is stored.
async fn stored(server: &TestServer) -> String {
    let rows =
        server.database().query("SELECT value FROM options WHERE key = 'credentials.password'", &[]).await;
    rows[0].get(0)
}

#[tokio::test]
async fn secret_is_never_shown() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let created = admin.post(OPTIONS, &option_of("mail", "credentials.password", "hunter-2")).await;
    let changed = admin.put(SECRET, &json!({"value": "hunter-2"})).await;
    let merged = admin.put("/tenant/options/mail", &json!({"credentials.password": "hunter-2"})).await;

    assert_eq!((created.status, changed.status, merged.status), (201, 200, 200));
    assert_eq!(created.json()["value"], SHOWN);
    assert_eq!(merged.json(), json!({"credentials.password": SHOWN}));
    assert_eq!(admin.read("/tenant/options/mail").await, json!({"credentials.password": SHOWN}));
    for path in [SECRET, OPTIONS, "/tenant/options/mail"] {
        let answer = admin.get(path).await;
        assert!(answer.text.contains(SHOWN) && !answer.text.contains("hunter"), "{}", answer.text);
    }
}

#[tokio::test]
async fn secret_is_stored_sealed_for_its_place() {
    let server = TestServer::start().await;
    server.admin().create(OPTIONS, &option_of("mail", "credentials.password", "hunter-2")).await;

    let stored = stored(&server).await;

    assert!(!stored.contains("hunter"), "{stored}");
    let key = SecretKey::load(&server.database().data_dir().join("secret.key")).unwrap().unwrap();
    let open = |place| key.sealing().open(place, &stored);
    assert_eq!(open(["main", "mail", "credentials.password"]).as_deref(), Some("hunter-2"));
    assert_eq!(open(["management", "mail", "credentials.password"]), None);
    assert_eq!(open(["main", "other", "credentials.password"]), None);
}

#[tokio::test]
async fn place_holder_written_back_leaves_the_secret() {
    let (server, admin) = TestServer::start().await.with_admin();
    admin.create(OPTIONS, &option_of("mail", "credentials.password", "hunter-2")).await;
    let before = stored(&server).await;

    for (method, path, body) in [
        ("POST", OPTIONS, option_of("mail", "credentials.password", SHOWN)),
        ("PUT", SECRET, json!({"value": SHOWN})),
        ("PUT", "/tenant/options/mail", json!({"credentials.password": SHOWN, "host": "a"})),
    ] {
        admin.request(method, path).accepting_json().json(&body).send().await.expect(200);
        assert_eq!(stored(&server).await, before, "{method} {path}");
    }
}

#[tokio::test]
async fn place_holder_of_nothing_is_422() {
    let server = TestServer::start().await;

    server.admin().post(OPTIONS, &option_of("mail", "credentials.password", SHOWN)).await.expect(422);

    assert_eq!(server.database().count("options").await, 0);
}

#[tokio::test]
async fn other_options_are_stored_as_they_are() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (category, key) in
        [("credentials.mail", "host"), ("mail", "my.credentials."), ("mail", "Credentials.x")]
    {
        let created = admin.create(OPTIONS, &option_of(category, key, "plain")).await;
        assert_eq!(created["value"], "plain", "{category}/{key}");
    }
}
