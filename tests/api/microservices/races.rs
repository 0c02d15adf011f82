//! Concurrent changes of subscriptions and applications.

use super::*;

#[tokio::test]
async fn of_many_subscriptions_at_once_one_is_made_with_one_service_user() {
    let first = TestServer::start().await;
    let second = TestServer::start_on(&first.shared_database(), |_| {}).await;
    let (id, bootstrap) = serve(&first, "pump", json!({}), &[]).await;
    let admins = [first.admin(), second.admin()];

    let (path, body) = (of_tenant("main"), reference(&id));
    let answers = join_all((0..20).map(|n| admins[n % 2].post(&path, &body))).await;

    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [&[201][..], &[409; 19]].concat());
    let users = service_users(&bootstrap).await;
    assert_eq!(users.len(), 1);
    assert_eq!(acting(&second, &users[0]).get("/tenant/currentTenant").await.status, 200);
}

#[tokio::test]
async fn subscriptions_and_changes_of_roles_leave_every_service_user_with_the_last_roles() {
    let server = TestServer::start().await;
    let (id, bootstrap) = serve(&server, "pump", json!({}), &[]).await;
    let tenants: Vec<String> = (0..6).map(|n| format!("t{n}")).collect();
    for tenant in &tenants {
        create_reseller(&server, tenant).await;
    }
    let management = management(&server);

    let subscribing = join_all(tenants.iter().map(|tenant| subscribe(&management, tenant, &id)));
    let changes = ["ROLE_ALARM_READ", "ROLE_EVENT_READ", "ROLE_AUDIT_READ", "ROLE_INVENTORY_READ"];
    let changing = async {
        for role in changes {
            bootstrap.put(CURRENT, &json!({"requiredRoles": [role]})).await.expect(200);
        }
    };
    tokio::join!(subscribing, changing);

    let roles = "SELECT DISTINCT roles FROM users WHERE duty = 'SERVICE'";
    let held: Vec<Vec<String>> =
        server.database().query(roles, &[]).await.iter().map(|row| row.get(0)).collect();
    assert_eq!(held, [["ROLE_INVENTORY_READ"]]);
    assert_eq!(service_users(&bootstrap).await.len(), 6);
}

#[tokio::test]
async fn role_that_is_given_while_it_goes_is_held_by_nobody() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, _) = serve(&server, "pump", json!({"roles": ["ROLE_PUMP_READ"]}), &["main"]).await;
    for n in 0..10 {
        let user = json!({"userName": format!("user{n}"), "password": "secret-1"});
        admin.create("/user/main/users", &user).await;
    }

    let role = json!({"role": {"id": "ROLE_PUMP_READ"}});
    let paths: Vec<String> = (0..10).map(|n| format!("/user/main/users/user{n}/roles")).collect();
    let giving = join_all(paths.iter().map(|path| admin.post(path, &role)));
    let (answers, ()) = tokio::join!(giving, unsubscribe(&admin, "main", &id));

    for answer in answers {
        assert!([201, 422].contains(&answer.status), "{}", answer.text);
    }
    let held = "SELECT 1 FROM users WHERE 'ROLE_PUMP_READ' = ANY(roles)";
    assert!(server.database().query(held, &[]).await.is_empty());
}

#[tokio::test]
async fn role_of_two_microservices_goes_when_both_leave_at_once() {
    let (server, admin) = TestServer::start().await.with_admin();
    let defining = json!({"roles": ["ROLE_PUMP_READ"]});
    let (pump, _) = serve(&server, "pump", defining.clone(), &[]).await;
    let (valve, _) = serve(&server, "valve", defining, &[]).await;
    server.user_with("holder", &[]).await;

    for _ in 0..10 {
        subscribe(&admin, "main", &pump).await;
        subscribe(&admin, "main", &valve).await;
        let role = json!({"role": {"id": "ROLE_PUMP_READ"}});
        admin.create("/user/main/users/holder/roles", &role).await;

        tokio::join!(unsubscribe(&admin, "main", &pump), unsubscribe(&admin, "main", &valve));

        let held = "SELECT 1 FROM users WHERE 'ROLE_PUMP_READ' = ANY(roles)";
        assert!(server.database().query(held, &[]).await.is_empty());
    }
}

#[tokio::test]
async fn subscription_and_deletion_of_the_application_leave_nothing_behind() {
    let server = TestServer::start().await;
    let (admin, boss) = (server.admin(), create_reseller(&server, "t7").await);
    for n in 0..8 {
        let id = create_application(&admin, &microservice(&format!("pump{n}"))).await;
        let (path, reference) = (of_tenant("t7"), reference(&id));
        let application = format!("{APPLICATIONS}/{id}");
        let (subscribed, deleted) = tokio::join!(boss.post(&path, &reference), admin.delete(&application));
        match (subscribed.status, deleted.status) {
            (422, 204) | (201, 409) => {}
            other => panic!("{other:?}: {} {}", subscribed.text, deleted.text),
        }
    }
    let orphans = "SELECT 1 FROM users u WHERE duty = 'SERVICE' AND NOT EXISTS (SELECT 1 FROM subscriptions s \
        WHERE s.tenant = u.tenant AND s.application = u.application)";
    assert!(server.database().query(orphans, &[]).await.is_empty());
}
