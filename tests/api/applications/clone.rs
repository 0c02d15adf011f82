//! `POST /application/applications/<id>/clone` (W-09).

use super::*;

async fn clone_of(caller: &Caller, application: &str) -> Response {
    caller.request("POST", &format!("{application}/clone")).accepting_json().send().await
}

#[tokio::test]
async fn clone_has_the_prefix_in_name_key_and_context_path_and_is_the_same_otherwise() {
    let (server, admin) = TestServer::start().await.with_admin();
    let mut body = hosted("web");
    for (member, value) in [
        ("availability", json!("MARKET")),
        ("resourcesUsername", json!("joe")),
        ("resourcesPassword", json!("hush-hush")),
        ("requiredRoles", json!(["ROLE_ALARM_READ"])),
        ("roles", json!(["ROLE_WEB_READ"])),
    ] {
        body[member] = value;
    }
    let original = create(&admin, &body).await;

    let answer = clone_of(&admin, &original).await.expect(201);

    let shown = answer.json();
    assert_eq!(
        (&shown["name"], &shown["key"], &shown["contextPath"]),
        (&json!("cloneweb"), &json!("cloneweb-key"), &json!("cloneweb"))
    );
    let own = ["self", "id", "name", "key", "contextPath"];
    assert_eq!(without(&shown, &own), without(&admin.read(&original).await, &own));
    let link = answer.header("Location").unwrap();
    assert!(link.ends_with(shown["id"].as_str().unwrap()), "{link}");
    assert_eq!(admin.read(link).await, shown);
    let passwords = "SELECT count(DISTINCT sealed_resources_password) FROM applications";
    assert_eq!(server.database().query(passwords, &[]).await[0].get::<_, i64>(0), 2);
}

#[tokio::test]
async fn clone_of_a_clone_has_the_prefix_twice_and_a_second_clone_is_409() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let original = create(&admin, &hosted("web")).await;

    let clone = clone_of(&admin, &original).await;
    let again = clone_of(&admin, &original).await;
    let twice = clone_of(&admin, clone.header("Location").unwrap()).await;

    assert_eq!((clone.status, again.status, twice.status), (201, 409, 201));
    assert_eq!(again.error(), "application/Duplicate");
    assert_eq!(twice.json()["name"], "clonecloneweb");
}

#[tokio::test]
async fn name_key_and_context_path_that_are_taken_are_each_409() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let original = create(&admin, &hosted("web")).await;

    for (member, taken) in [("name", "cloneweb"), ("key", "cloneweb-key"), ("contextPath", "cloneweb")] {
        let other = create(&admin, &with(hosted("other"), member, json!(taken))).await;
        clone_of(&admin, &original).await.expect_error(409, "application/Duplicate");
        admin.delete(&other).await;
    }
    assert_eq!(clone_of(&admin, &original).await.status, 201);
}

#[tokio::test]
async fn clone_of_a_microservice_has_a_bootstrap_user_of_its_own() {
    let (server, admin) = TestServer::start().await.with_admin();
    let original = create(&admin, &microservice("pump")).await;

    let clone = clone_of(&admin, &original).await;

    assert_eq!((clone.status, &clone.json()["contextPath"]), (201, &json!("clonepump")), "{}", clone.text);
    let names = "SELECT name FROM users WHERE tenant = 'main' AND duty = 'BOOTSTRAP' ORDER BY name";
    let rows = server.database().query(names, &[]).await;
    let names: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["servicebootstrap_clonepump", "servicebootstrap_pump"]);
}

#[tokio::test]
async fn external_application_is_cloned_without_a_context_path() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let original = create(&admin, &external("link")).await;

    let clone = clone_of(&admin, &original).await.expect(201);

    assert_eq!(
        without(&clone.json(), &["self", "id", "owner"]),
        json!({"name": "clonelink", "key": "clonelink-key", "type": "EXTERNAL", "availability": "PRIVATE",
            "externalUrl": "https://example.com/"})
    );
}

#[tokio::test]
async fn clone_of_a_hosted_application_serves_the_same_and_continues_when_the_original_is_gone() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let original = create(&admin, &hosted("web")).await;
    let id = original.rsplit('/').next().unwrap();
    assert_eq!(upload(&admin, id, &web_archive(&[("a.txt", "the first")])).await.status, 204);

    let clone = clone_of(&admin, &original).await.json();
    assert_eq!(upload(&admin, id, &web_archive(&[("a.txt", "the second")])).await.status, 204);
    assert_eq!(admin.get("/apps/cloneweb/a.txt").await.text, "the first");
    assert_eq!(admin.get("/apps/web/a.txt").await.text, "the second");
    assert_eq!(admin.delete(&original).await.status, 204);

    assert!(clone["activeVersionId"].is_string(), "{clone}");
    assert_eq!(admin.get("/apps/cloneweb/a.txt").await.text, "the first");
    assert_eq!(admin.get("/apps/web/a.txt").await.status, 404);
}

#[tokio::test]
async fn names_that_become_too_long_are_422() {
    let (_server, admin) = TestServer::start().await.with_admin();

    for (member, length) in [("name", 124), ("key", 124), ("contextPath", 251)] {
        let original = create(&admin, &with(hosted("web"), member, json!("x".repeat(length)))).await;
        clone_of(&admin, &original).await.expect_message(422, &format!("'{member}'"));
        admin.delete(&original).await;
    }
}

#[tokio::test]
async fn only_the_owner_with_the_admin_role_may_clone() {
    let database = two_tenants().await;
    let (server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();
    let private = create(&admin, &hosted("private")).await;
    let market = create(&admin, &with(hosted("market"), "availability", json!("MARKET"))).await;
    let reader = server.user_with("reader", &["ROLE_APPLICATION_MANAGEMENT_READ"]).await;

    assert_eq!(clone_of(&reader, &private).await.status, 403);
    assert_eq!(clone_of(&plant7(&server), &market).await.status, 403);
    assert_eq!(clone_of(&plant7(&server), &private).await.status, 404);
    assert_eq!(clone_of(&admin, &format!("{APPLICATIONS}/4711")).await.status, 404);
}
