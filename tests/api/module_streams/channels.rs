//! Channels of modules (B-01, B-05, B-17, Q-19).

use super::*;
use crate::harness::modules::{path_of, set_status};

/// Publishes events by their type.
const DOORS: &str = "module doors;
    @Name('opened') select event.text as text from EventCreated where event.type = 'opened';
    @Name('all') select event.type as type from EventCreated;";

async fn happens(caller: &Caller, device: &str, kind: &str) {
    caller.create("/event/events", &event_of(device, kind)).await;
}

/// Channel and data of each.
fn shown(told: &[Value]) -> Vec<(&str, &Value)> {
    told.iter().map(|told| (told["channel"].as_str().unwrap(), &told["data"])).collect()
}

#[tokio::test]
async fn statement_and_wildcard_receive_rows_at_both_paths() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    deploy(&admin, DOORS).await;
    let opened = admin.listen("/doors/opened").await;
    let all = admin.session().await;
    assert_eq!(all.on("/cep/notifications").subscribe("/doors/*").await["successful"], true);

    for kind in ["closed", "opened"] {
        happens(&admin, &device, kind).await;
    }

    let told = opened.receive(1).await;
    assert_eq!(shown(&told), [("/doors/opened", &json!({"text": "It happened"}))]);
    let told = all.on("/cep/notifications").receive(3).await;
    assert_eq!(
        shown(&told),
        [
            ("/doors/all", &json!({"type": "closed"})),
            ("/doors/opened", &json!({"text": "It happened"})),
            ("/doors/all", &json!({"type": "opened"})),
        ]
    );
}

#[tokio::test]
async fn channel_is_there_while_its_module_is_deployed() {
    let server = TestServer::start().await;
    server.database().insert_tenant("acme", "acme.example.com").await;
    let (admin, stranger) = (server.admin(), server.caller("acme/admin", crate::harness::ADMIN_PASSWORD));
    let subscribes = async |caller: &Caller| caller.session().await.subscribe("/doors/any").await;
    let denied = "403::subscribe_denied";
    assert_eq!(subscribes(&admin).await["error"], denied, "before it is there");

    let module = deploy(&admin, DOORS).await;
    assert_eq!(subscribes(&admin).await["successful"], true);
    assert_eq!(subscribes(&stranger).await["error"], denied, "a module of another tenant");

    set_status(&admin, &module, "NOT_DEPLOYED").await;
    assert_eq!(subscribes(&admin).await["error"], denied, "not deployed");
    set_status(&admin, &module, "DEPLOYED").await;
    assert_eq!(subscribes(&admin).await["successful"], true, "deployed again");

    assert_eq!(admin.delete(&path_of(&module)).await.status, 204);
    assert_eq!(subscribes(&admin).await["error"], denied, "deleted");
}

#[tokio::test]
async fn subscriber_of_a_module_is_notified_again_when_it_is_deployed_again() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let module = deploy(&admin, DOORS).await;
    let session = admin.listen("/doors/all").await;

    set_status(&admin, &module, "NOT_DEPLOYED").await;
    happens(&admin, &device, "between").await;
    set_status(&admin, &module, "DEPLOYED").await;
    happens(&admin, &device, "after").await;

    assert_eq!(shown(&session.receive(1).await), [("/doors/all", &json!({"type": "after"}))]);
}

#[tokio::test]
async fn renamed_module_publishes_on_other_channels() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let module = deploy(&admin, DOORS).await;
    let session = admin.listen("/doors/all").await;

    happens(&admin, &device, "one").await;
    let told = session.receive(1).await;
    assert_eq!(admin.put(&path_of(&module), &json!({"name": "gates"})).await.status, 200);
    assert_eq!(session.subscribe("/gates/all").await["successful"], true);
    happens(&admin, &device, "two").await;

    assert_eq!(shown(&told), [("/doors/all", &json!({"type": "one"}))]);
    assert_eq!(shown(&session.receive(1).await), [("/gates/all", &json!({"type": "two"}))]);
}

#[tokio::test]
async fn channels_of_modules_need_the_role_for_notifications() {
    let (server, admin) = TestServer::shared().await.with_admin();
    deploy(&admin, DOORS).await;
    let with = server.user_with("with", &["ROLE_NOTIFICATION_READ"]).await;
    let without = server.user_with("without", &["ROLE_EVENT_READ"]).await;

    for channel in ["/doors/all", "/doors/*"] {
        let granted = with.session().await.subscribe(channel).await;
        let denied = without.session().await.subscribe(channel).await;
        assert_eq!(granted["successful"], true, "{granted}");
        assert_eq!(denied["error"], "403::subscribe_denied", "{denied}");
    }
}

#[tokio::test]
async fn module_receives_and_notifies_its_own_tenant_only() {
    let server = TestServer::start().await;
    server.database().insert_tenant("acme", "acme.example.com").await;
    let (admin, stranger) = (server.admin(), server.caller("acme/admin", crate::harness::ADMIN_PASSWORD));
    let devices = (admin.create_device("door").await, stranger.create_device("door").await);
    deploy(&admin, DOORS).await;
    deploy(&stranger, DOORS).await;
    let (session, other) = (admin.listen("/doors/all").await, stranger.listen("/doors/all").await);

    happens(&stranger, &devices.1, "theirs").await;
    happens(&admin, &devices.0, "ours").await;

    assert_eq!(shown(&session.receive(1).await), [("/doors/all", &json!({"type": "ours"}))]);
    assert_eq!(shown(&other.receive(1).await), [("/doors/all", &json!({"type": "theirs"}))]);
}
