//! Only a microservice and its owner can read the passwords of its users.

use super::*;

#[tokio::test]
async fn dump_of_the_database_holds_no_password_of_a_microservice() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, bootstrap) = serve(&server, "pump", json!({}), &["main", "management"]).await;
    let own = admin.read(&format!("{APPLICATIONS}/{id}/bootstrapUser")).await;
    let mut users = service_users(&bootstrap).await;
    users.push(own);

    let dump = server.database().dump().await;

    assert_eq!(users.len(), 3);
    for user in users {
        let (name, password) = (user["name"].as_str().unwrap(), user["password"].as_str().unwrap());
        assert!(password.len() >= 16, "a password of {} characters", password.len());
        assert!(dump.contains(name), "the dump is whole");
        assert!(!dump.contains(password), "the password of {name} is in clear");
    }
}

#[tokio::test]
async fn password_that_was_moved_to_another_user_is_not_returned() {
    let server = TestServer::start().await;
    let boss = create_reseller(&server, "t7").await;
    let (_, of_main) = serve(&server, "pump", json!({}), &["main"]).await;
    assert_eq!(service_users(&of_main).await.len(), 1);
    let id = create_application(&boss, &microservice("thief")).await;
    let thief = bootstrap(&server, &boss, &id).await;
    subscribe(&boss, "t7", &id).await;

    let copy = "UPDATE users t SET sealed_password = s.sealed_password FROM users s \
        WHERE t.name = 'service_thief' AND s.name = 'service_pump'";
    assert_eq!(server.database().execute(copy, &[]).await, 1);

    let answer = thief.get(SUBSCRIPTIONS).await.expect(503);
    assert!(!answer.text.contains("password"), "{}", answer.text);
}
