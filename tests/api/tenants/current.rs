//! `GET /tenant/currentTenant` and `GET /tenant/loginOptions` (Z-02, C-07).

use super::*;

const CURRENT: &str = "/tenant/currentTenant";

#[tokio::test]
async fn current_tenant_is_that_of_the_caller() {
    let server = TestServer::start().await;
    let boss = create_reseller(&server, "t7").await;
    management(&server).put("/tenant/tenants/t7", &json!({"customProperties": {"a": 1}})).await;

    let answer = boss.get(CURRENT).await;

    let expected = json!({
        "name": "t7",
        "domainName": "plant-t7.example.com",
        "allowCreateTenants": true,
        "parent": "management",
        "customProperties": {"a": 1},
        "applications": {"references": []},
    });
    assert_eq!((answer.status, answer.json()), (200, expected));
    answer.expect_media("currentTenant");
}

#[tokio::test]
async fn management_has_no_parent_and_may_create_tenants() {
    let server = TestServer::shared().await;

    let tenant = management(&server).read(CURRENT).await;

    assert_eq!((&tenant["parent"], &tenant["allowCreateTenants"]), (&json!(null), &json!(true)));
}

#[tokio::test]
async fn every_user_may_read_the_current_tenant_also_the_bootstrap_user() {
    let server = TestServer::shared().await;
    let nobody = server.user_with("nobody", &[]).await;
    let bootstrap = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);

    for _ in 0..2 {
        assert_eq!(nobody.read(CURRENT).await["name"], server.tenant());
        assert_eq!(bootstrap.read(CURRENT).await["name"], "management");
        assert_eq!(bootstrap.get("/inventory/managedObjects").await.status, 403, "and nothing else");
        assert_eq!(bootstrap.request("POST", CURRENT).send().await.status, 403);
    }
}

#[tokio::test]
async fn bootstrap_user_gets_no_session() {
    let server = TestServer::shared().await;
    let bootstrap = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);
    bootstrap.read(CURRENT).await;

    assert_eq!(bootstrap.bayeux("/notification/realtime", &json!([])).await.status, 403);
    let (user, password) = ("management/devicebootstrap", BOOTSTRAP_PASSWORD);
    let token = bootstrap.authorization().unwrap().replace("Basic ", "");
    let ext = json!({"com.platform.authn": {"token": token}});
    let mut socket = crate::harness::Socket::open(&server.stranger(), "/notification/realtime").await;
    let reply = socket.ask(crate::harness::handshake(json!({"ext": ext}))).await;
    assert_eq!(reply["error"], "403::Handshake denied", "{user}:{password}");
}

#[tokio::test]
async fn strangers_are_401() {
    let server = TestServer::shared().await;

    assert_eq!(server.stranger().get(CURRENT).await.status, 401);
    assert_eq!(server.caller("admin", "wrong-secret").get(CURRENT).await.status, 401);
}

#[tokio::test]
async fn login_options_are_open_and_list_basic_only() {
    let server = TestServer::shared().await;

    let answer = server.stranger().get("/tenant/loginOptions").await;

    let body = answer.json();
    assert_eq!(answer.status, 200, "{}", answer.text);
    let options = body["loginOptions"].as_array().unwrap();
    assert_eq!(options.len(), 1, "{body}");
    assert_eq!((&options[0]["id"], &options[0]["type"]), (&json!("basic"), &json!("BASIC")));
    assert_eq!(body["statistics"], json!({"pageSize": 5, "currentPage": 1}));
    answer.expect_media("loginOptionCollection");
}

#[tokio::test]
async fn other_methods_of_login_options_need_credentials() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for method in ["POST", "PUT", "DELETE"] {
        let strange = server.stranger().request(method, "/tenant/loginOptions").send().await;
        let known = admin.request(method, "/tenant/loginOptions").send().await;
        assert_eq!((strange.status, known.status), (401, 405), "{method}");
    }
}
