//! The user a microservice works as in the tenant of a subscriber (W-11).

use super::*;

const DEVICES: &str = "/inventory/managedObjects";

/// Reads the inventory.
fn reader() -> Value {
    json!({"requiredRoles": ["ROLE_INVENTORY_READ"]})
}

#[tokio::test]
async fn service_user_works_in_the_tenant_of_the_subscriber_with_the_required_roles() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_reseller(&server, "t7").await;
    let (_, bootstrap) = serve(&server, "pump", reader(), &["t7"]).await;
    boss.create_device("pump of t7").await;
    admin.create_device("pump of main").await;

    let service = service_in(&server, &bootstrap, "t7").await;

    let devices = service.read(DEVICES).await["managedObjects"].clone();
    assert_eq!((devices.as_array().unwrap().len(), &devices[0]["name"]), (1, &json!("pump of t7")));
    assert_eq!(effective_roles(&service).await, ["ROLE_INVENTORY_READ"]);
    assert_eq!(service.post(DEVICES, &json!({"name": "x"})).await.status, 403);
    assert_eq!(service.read("/tenant/currentTenant").await["name"], "t7");
}

#[tokio::test]
async fn only_microservices_get_service_users() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = create_application(&admin, &external("link")).await;
    subscribe(&admin, "main", &id).await;

    let users = "SELECT 1 FROM users WHERE application IS NOT NULL AND application::text = $1";
    assert!(server.database().query(users, &[&id]).await.is_empty());
}

#[tokio::test]
async fn service_user_is_not_among_the_users_of_its_tenant() {
    let (server, admin) = TestServer::start().await.with_admin();
    let users = async || {
        let page = admin.read("/user/main/users?pageSize=2000").await;
        let counted = admin.read("/user/main/users?pageSize=1&withTotalPages=true").await;
        let counted = counted["statistics"]["totalPages"].clone();
        let names =
            page["users"].as_array().unwrap().iter().map(|user| user["id"].clone()).collect::<Vec<_>>();
        (names, counted)
    };
    let before = users().await;

    serve(&server, "pump", reader(), &["main"]).await;

    assert_eq!(users().await, before);
    assert_eq!(admin.read("/user/main/users?username=service").await["users"], json!([]));
}

#[tokio::test]
async fn service_user_can_be_read_by_name_with_the_usual_rights() {
    let (server, admin) = TestServer::start().await.with_admin();
    serve(&server, "pump", reader(), &["main"]).await;

    let user = admin.read("/user/main/users/service_pump").await;

    assert_eq!(user["id"], "service_pump");
    assert_eq!(user["roles"]["references"][0]["role"]["name"], "ROLE_INVENTORY_READ");
    assert!(!user.to_string().contains("password\""), "{user}");
    let nobody = server.user_with("nobody", &[]).await;
    assert_eq!(nobody.get("/user/main/users/service_pump").await.status, 403);
}

#[tokio::test]
async fn users_of_microservices_are_changed_by_nobody() {
    let (server, admin) = TestServer::start().await.with_admin();
    let group = admin.create("/user/main/groups", &json!({"name": "crew"})).await["id"].to_string();
    let (_, bootstrap) = serve(&server, "pump", reader(), &["main"]).await;
    let service = service_in(&server, &bootstrap, "main").await;

    for name in ["service_pump", "servicebootstrap_pump"] {
        let path = format!("/user/main/users/{name}");
        let before = admin.read(&path).await;
        let answers = [
            admin.put(&path, &json!({"password": "chosen-1"})).await,
            admin.put(&path, &json!({"enabled": false})).await,
            admin.put(&path, &json!({"owner": "admin"})).await,
            admin.put(&path, &json!({"devicePermissions": {"1": ["ALARM:*:READ"]}})).await,
            admin.post(&format!("{path}/roles"), &json!({"role": {"id": "ROLE_ALARM_READ"}})).await,
            admin.delete(&format!("{path}/roles/ROLE_INVENTORY_READ")).await,
            admin.post(&format!("/user/main/groups/{group}/users"), &json!({"user": {"id": name}})).await,
            admin.delete(&path).await,
        ];
        for answer in answers {
            assert_eq!((answer.status, &*answer.error()), (403, "security/Forbidden"), "{}", answer.text);
            assert!(answer.message().contains("microservice"), "{}", answer.text);
        }
        assert_eq!(admin.read(&path).await, before);
    }
    assert_eq!(service.get(DEVICES).await.status, 200);
}

#[tokio::test]
async fn service_user_does_not_change_itself_either() {
    let server = TestServer::start().await;
    let roles = json!({"requiredRoles": ["ROLE_USER_MANAGEMENT_OWN_ADMIN", "ROLE_USER_MANAGEMENT_ADMIN"]});
    let (_, bootstrap) = serve(&server, "pump", roles, &["main"]).await;
    let service = service_in(&server, &bootstrap, "main").await;

    let answer = service.put("/user/currentUser", &json!({"password": "chosen-1"})).await;

    assert_eq!((answer.status, &*answer.error()), (403, "security/Forbidden"));
    service.put("/user/main/users/service_pump", &json!({"password": "chosen-1"})).await.expect(403);
    assert_eq!(service.get("/user/currentUser").await.status, 200);
}

#[tokio::test]
async fn password_of_the_first_user_does_not_reach_a_service_user_of_its_name() {
    let server = TestServer::start().await;
    let mut body = json!({
        "id": "t7", "domain": "t7.example.com", "company": "Acme", "adminName": "service_pump",
        "adminPass": ADMIN_PASSWORD, "adminEmail": "boss@example.com",
    });
    management(&server).create("/tenant/tenants", &body).await;
    let other = json!({"userName": "boss", "password": ADMIN_PASSWORD});
    management(&server).create("/user/t7/users", &other).await;
    let groups = management(&server).read("/user/t7/groupByName/admins").await["id"].to_string();
    let member = json!({"user": {"id": "boss"}});
    management(&server).create(&format!("/user/t7/groups/{groups}/users"), &member).await;
    assert_eq!(management(&server).delete("/user/t7/users/service_pump").await.status, 204);
    let (_, bootstrap) = serve(&server, "pump", reader(), &["t7"]).await;
    let service = service_in(&server, &bootstrap, "t7").await;

    body = json!({"adminPass": "chosen-1"});
    management(&server).put("/tenant/tenants/t7", &body).await.expect(422);

    assert_eq!(server.caller("t7/service_pump", "chosen-1").get(DEVICES).await.status, 401);
    assert_eq!(service.get(DEVICES).await.status, 200);
}

#[tokio::test]
async fn service_user_evades_a_name_that_is_taken() {
    let (server, admin) = TestServer::start().await.with_admin();
    let squatter = json!({"userName": "service_pump", "password": "secret-1"});
    admin.create("/user/main/users", &squatter).await;

    let (id, bootstrap) = serve(&server, "pump", reader(), &["main"]).await;

    let users = service_users(&bootstrap).await;
    assert_eq!((users.len(), &users[0]["name"]), (1, &json!(format!("service_pump_{id}"))));
    assert_eq!(acting(&server, &users[0]).get(DEVICES).await.status, 200);
    let squatter = server.caller("service_pump", "secret-1");
    assert_eq!(squatter.get(DEVICES).await.json()["managedObjects"], json!([]), "no role, so nothing");
    assert_eq!(squatter.get(SETTINGS).await.status, 403);
}

#[tokio::test]
async fn subscription_is_409_where_both_names_are_taken() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let id = create_application(&admin, &microservice("pump")).await;
    for name in ["service_pump", &format!("service_pump_{id}")] {
        admin.create("/user/main/users", &json!({"userName": name, "password": "secret-1"})).await;
    }

    let answer = admin.post(&of_tenant("main"), &reference(&id)).await;

    assert_eq!((answer.status, &*answer.error()), (409, "application/Update Conflict"));
    assert!(answer.message().contains("service_pump"), "{}", answer.text);
    assert_eq!(admin.read(&of_tenant("main")).await["references"], json!([]), "all or nothing");
}

#[tokio::test]
async fn nobody_takes_the_name_of_a_service_user() {
    let (server, admin) = TestServer::start().await.with_admin();
    serve(&server, "pump", reader(), &["main"]).await;

    let user = json!({"userName": "service_pump", "password": "secret-1"});
    admin.post("/user/main/users", &user).await.expect_error(409, "user/Duplicate");
}

#[tokio::test]
async fn required_roles_are_applied_again_at_once() {
    let (server, admin) = TestServer::start().await.with_admin();
    create_reseller(&server, "t7").await;
    let (id, bootstrap) = serve(&server, "pump", reader(), &["main", "t7"]).await;
    let mut services = Vec::new();
    for tenant in ["main", "t7"] {
        services.push(service_in(&server, &bootstrap, tenant).await);
        assert_eq!(services.last().unwrap().get("/audit/auditRecords").await.status, 403);
    }

    let change = json!({"requiredRoles": ["ROLE_AUDIT_READ", "ROLE_ALARM_READ"]});
    assert_eq!(admin.put(&format!("{APPLICATIONS}/{id}"), &change).await.status, 200);
    for service in &services {
        until_answered(service, "/audit/auditRecords", 200).await;
        assert_eq!(effective_roles(service).await, ["ROLE_ALARM_READ", "ROLE_AUDIT_READ"]);
    }
    assert_eq!(bootstrap.put(CURRENT, &json!({"requiredRoles": []})).await.status, 200);
    for service in &services {
        until_answered(service, "/audit/auditRecords", 403).await;
    }
}

#[tokio::test]
async fn service_user_goes_with_the_subscription() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, bootstrap) = serve(&server, "pump", reader(), &["main"]).await;
    let service = service_in(&server, &bootstrap, "main").await;
    assert_eq!(service.get(DEVICES).await.status, 200);

    unsubscribe(&admin, "main", &id).await;

    until_answered(&service, DEVICES, 401).await;
    assert_eq!(service_users(&bootstrap).await, Vec::<Value>::new());
    assert_eq!(admin.get("/user/main/users/service_pump").await.status, 404);
    subscribe(&admin, "main", &id).await;
    let next = service_in(&server, &bootstrap, "main").await;
    assert_eq!(next.get(DEVICES).await.status, 200);
    assert_eq!(service.get(DEVICES).await.status, 401, "another password");
}

#[tokio::test]
async fn service_user_goes_with_the_application() {
    let (server, admin) = TestServer::start().await.with_admin();
    create_reseller(&server, "t7").await;
    let (id, bootstrap) = serve(&server, "pump", reader(), &["t7"]).await;
    let service = service_in(&server, &bootstrap, "t7").await;
    assert_eq!(service.get(DEVICES).await.status, 200);

    bootstrap.put(CURRENT, &json!({"availability": "PRIVATE"})).await;
    admin.delete(&format!("{APPLICATIONS}/{id}")).await.expect(204);

    until_answered(&service, DEVICES, 401).await;
    assert_eq!(management(&server).read(&of_tenant("t7")).await["references"], json!([]));
}

#[tokio::test]
async fn users_of_a_service_user_belong_to_nobody_when_it_is_gone() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, bootstrap) =
        serve(&server, "pump", json!({"requiredRoles": ["ROLE_USER_MANAGEMENT_CREATE"]}), &["main"]).await;
    let service = service_in(&server, &bootstrap, "main").await;
    let user = json!({"userName": "helper", "password": "secret-1"});
    assert_eq!(service.create("/user/main/users", &user).await["owner"], "service_pump");

    unsubscribe(&admin, "main", &id).await;

    assert_eq!(admin.read("/user/main/users/helper").await["owner"], json!(null));
}

#[tokio::test]
async fn service_user_of_a_suspended_tenant_is_403_and_stays_listed() {
    let server = TestServer::start().await;
    create_reseller(&server, "t7").await;
    let (_, bootstrap) = serve(&server, "pump", reader(), &["t7"]).await;
    let service = service_in(&server, &bootstrap, "t7").await;
    assert_eq!(service.get(DEVICES).await.status, 200);

    management(&server).put("/tenant/tenants/t7", &json!({"status": "SUSPENDED"})).await;

    until_answered(&service, DEVICES, 403).await;
    assert_eq!(service_users(&bootstrap).await.len(), 1);
}

#[tokio::test]
async fn name_of_a_service_user_stays_when_the_application_is_renamed() {
    let server = TestServer::start().await;
    let (_, bootstrap) = serve(&server, "pump", reader(), &["main"]).await;
    let before = service_users(&bootstrap).await;

    assert_eq!(bootstrap.put(CURRENT, &json!({"name": "pump2"})).await.status, 200);

    assert_eq!(service_users(&bootstrap).await, before);
    assert_eq!(acting(&server, &before[0]).get(DEVICES).await.status, 200);
}
