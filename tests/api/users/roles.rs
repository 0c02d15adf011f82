//! Roles, and giving them to users (U-01, U-03, U-09).

use super::*;

#[tokio::test]
async fn roles_are_listed_by_name_with_exactly_id_name_and_self() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let page = admin.read("/user/roles?pageSize=100&withTotalPages=true").await;

    let names = ids(&page, "roles");
    assert_eq!(names.len(), 50);
    assert!(names.is_sorted() && names.contains(&"ROLE_CEP_MANAGEMENT_ADMIN".into()), "{names:?}");
    let link = format!("{}/user/roles/ROLE_ACCOUNT_ADMIN", server.base());
    assert_eq!(
        page["roles"][0],
        json!({"id": "ROLE_ACCOUNT_ADMIN", "name": "ROLE_ACCOUNT_ADMIN", "self": link})
    );
    assert_eq!(page["statistics"], json!({"totalPages": 1, "pageSize": 100, "currentPage": 1}));
    assert_eq!(admin.read(&link).await, page["roles"][0]);
}

#[tokio::test]
async fn roles_are_paged() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let pages = admin.pages("/user/roles?pageSize=20&withTotalPages=true").await;

    assert!(pages.iter().all(|page| page["statistics"]["totalPages"] == 3), "{pages:?}");
    let seen: Vec<String> = pages.iter().flat_map(|page| ids(page, "roles")).collect();
    assert!(seen.len() == 50 && seen.is_sorted(), "{seen:?}");
    let beyond = admin.read("/user/roles?pageSize=20&currentPage=2147483647").await;
    assert_eq!((beyond["roles"].clone(), beyond.get("next")), (json!([]), None));
}

#[tokio::test]
async fn unknown_role_is_404_and_roles_are_read_only() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for path in ["/user/roles/ROLE_KING", "/user/roles/%00", "/user/roles/role_alarm_read"] {
        admin.get(path).await.expect_error(404, "user/Not Found");
    }
    assert_eq!(admin.post("/user/roles", &json!({})).await.status, 405);
    assert_eq!(admin.delete("/user/roles/ROLE_ALARM_READ").await.status, 405);
}

#[tokio::test]
async fn role_is_assigned_by_self_id_or_name_and_counts_at_once() {
    let (server, admin) = with_joe().await;
    let joe = server.caller("joe", "secret-1");
    assert_eq!(joe.get("/alarm/alarms").await.status, 403);
    let path = format!("{USERS}/joe/roles");

    let link = format!("{}/user/roles/ROLE_ALARM_READ", server.base());
    let answer = admin.post(&path, &json!({"role": {"self": link}})).await.expect(201);

    let held = server.link(&format!("{path}/ROLE_ALARM_READ"));
    let role = json!({"id": "ROLE_ALARM_READ", "name": "ROLE_ALARM_READ", "self": link});
    assert_eq!(answer.json(), json!({"self": held, "role": role}));
    assert_eq!(answer.header("Location"), Some(&*held));
    until("the role", async || joe.get("/alarm/alarms").await.status == 200).await;
    for body in [json!({"role": {"id": "ROLE_EVENT_READ"}}), json!({"role": {"name": "ROLE_AUDIT_READ"}})] {
        assert_eq!(admin.post(&path, &body).await.status, 201, "{body}");
    }
    let page = admin.request("GET", &format!("{path}?pageSize=2&withTotalPages=true")).send().await;
    page.expect_media("roleReferenceCollection");
    let page = redacted(&page.json(), &[(&held, "<held>"), (&link, "<role>")]);
    assert_eq!(page["references"][0]["self"], "<held>");
    assert_eq!(page["statistics"], json!({"totalPages": 3, "pageSize": 2, "currentPage": 1}));
}

#[tokio::test]
async fn media_types_of_references_are_understood() {
    let (_server, admin) = with_joe().await;
    let reference = format!("{MEDIA}roleReference+json;ver=0.9");

    let request = admin.request("POST", &format!("{USERS}/joe/roles"));
    let request = request.header("Content-Type", &reference).header("Accept", &reference);
    let answer = request.body(r#"{"role":{"id":"ROLE_ALARM_READ"}}"#).send().await.expect(201);

    answer.expect_media("roleReference");
}

#[tokio::test]
async fn role_assigned_twice_is_201_without_a_change() {
    let (server, admin) = with_joe().await;
    let body = json!({"role": {"id": "ROLE_ALARM_READ"}});
    let path = format!("{USERS}/joe/roles");

    let first = admin.post(&path, &body).await;
    let second = admin.post(&path, &body).await;

    assert_eq!((first.status, second.status, second.json()), (201, 201, first.json()));
    assert_eq!(server.audit_records("joe").await.len(), 2, "created, and changed once");
    assert_eq!(admin.read(&path).await["references"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn withdrawn_role_counts_no_more_and_one_not_held_is_404() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    assert_eq!(joe.get("/alarm/alarms").await.status, 200);
    let path = format!("{USERS}/joe/roles/ROLE_ALARM_READ");

    assert_eq!(admin.delete(&path).await.status, 204);

    until("the loss", async || joe.get("/alarm/alarms").await.status == 403).await;
    for path in [
        &*path,
        "/user/<tenant>/users/joe/roles/ROLE_KING",
        "/user/<tenant>/users/nobody/roles/ROLE_ALARM_READ",
    ] {
        assert_eq!(admin.delete(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn internal_and_bootstrap_role_are_given_to_nobody() {
    let (_server, admin) = with_joe().await;

    for role in ["ROLE_SYSTEM", "ROLE_DEVICE_BOOTSTRAP"] {
        for path in [format!("{USERS}/joe/roles"), "/user/<tenant>/groups/3/roles".into()] {
            admin.post(&path, &json!({"role": {"id": role}})).await.expect(422);
        }
    }
}

#[tokio::test]
async fn roles_of_an_unknown_user_are_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = format!("{USERS}/nobody/roles");

    assert_eq!(admin.get(&path).await.status, 404);
    assert_eq!(admin.post(&path, &json!({"role": {"id": "ROLE_ALARM_READ"}})).await.status, 404);
    assert_eq!(admin.get(&format!("{USERS}/nobody/groups")).await.status, 404);
}
