//! Callers: Basic credentials and tenants (docs/rules.md#tenants-and-credentials; C-01 to C-03, U-16).

use std::time::Duration;

use serde_json::json;

use crate::harness::{
    ADMIN_PASSWORD, BOOTSTRAP_PASSWORD, Caller, OBJECTS, TestDatabase, TestServer, eventually,
    eventually_within, soon,
};

/// A server that knows a tenant `t7` with the domain `plant7.example.com`, and one object in each tenant.
async fn two_tenants() -> TestServer {
    let server = TestServer::start_with_tenant("t7", "plant7.example.com").await;
    server.admin().create(OBJECTS, &json!({"name": "in main"})).await;
    server.caller("t7/admin", ADMIN_PASSWORD).create(OBJECTS, &json!({"name": "in t7"})).await;
    server
}

/// Status and, when it is 200, the name of the only object the caller sees on this host.
async fn sees(caller: &Caller, host: Option<&str>) -> (u16, String) {
    let request = caller.request("GET", OBJECTS);
    let request = match host {
        Some(host) => request.header("Host", host),
        None => request,
    };
    let answer = request.send().await;
    let name = answer.json()["managedObjects"][0]["name"].as_str().unwrap_or_default().to_owned();
    (answer.status, name)
}

#[tokio::test]
async fn bare_user_name_means_the_default_tenant() {
    let server = two_tenants().await;

    assert_eq!(sees(&server.admin(), None).await, (200, "in main".into()));
    assert_eq!(sees(&server.admin(), Some("anything.example.com")).await, (200, "in main".into()));
}

#[tokio::test]
async fn registered_domain_means_its_tenant() {
    let server = two_tenants().await;

    for host in ["plant7.example.com", "plant7.example.com:8080", "PLANT7.example.COM"] {
        assert_eq!(sees(&server.admin(), Some(host)).await, (200, "in t7".into()), "{host}");
    }
}

#[tokio::test]
async fn tenant_in_the_user_name_goes_before_the_host() {
    let server = two_tenants().await;
    let (main, other) =
        (server.caller("main/admin", ADMIN_PASSWORD), server.caller("t7/admin", ADMIN_PASSWORD));

    for host in [None, Some("plant7.example.com"), Some("t7.example.com"), Some("main.example.com")] {
        assert_eq!(sees(&main, host).await, (200, "in main".into()), "{host:?}");
        assert_eq!(sees(&other, host).await, (200, "in t7".into()), "{host:?}");
    }
}

#[tokio::test]
async fn tenant_id_as_host_label_with_a_bare_user_name_is_403() {
    let server = two_tenants().await;

    let request = server.admin().request("GET", OBJECTS).header("Host", "t7.example.com");
    request.send().await.expect_error(403, "security/Forbidden");
}

#[tokio::test]
async fn unknown_tenant_in_the_user_name_is_401() {
    let server = two_tenants().await;

    for user in ["unknown/admin", "/admin", "T7/admin", "main//admin", "main/t7/admin"] {
        let answer = server.caller(user, ADMIN_PASSWORD).get(OBJECTS).await;
        assert_eq!((answer.status, answer.error().as_str()), (401, "security/Unauthorized"), "{user}");
    }
}

#[tokio::test]
async fn wrong_credentials_are_401() {
    let server = TestServer::start().await;

    for (user, password) in [
        ("admin", "wrong-secret"),
        ("admin", ""),
        ("Admin", ADMIN_PASSWORD),
        ("nobody", ADMIN_PASSWORD),
        ("admin\0", ADMIN_PASSWORD),
        ("main/ad\0min", ADMIN_PASSWORD),
        (&"x".repeat(3000), ADMIN_PASSWORD),
        ("", ""),
    ] {
        let answer = server.caller(user, password).get(OBJECTS).await;
        assert_eq!(answer.status, 401, "{user}:{password}");
        assert_eq!(answer.message(), "Invalid credentials! : Bad credentials");
    }
}

#[tokio::test]
async fn unreadable_credentials_are_401() {
    let server = TestServer::start().await;

    for header in [
        "",
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic YWRtaW4=",
        "Bearer abc",
        "Digest username=admin",
        "YWRtaW46YWRtaW4tc2VjcmV0",
        &format!("Basic {}", "A".repeat(100_000)),
    ] {
        let answer = server.stranger().request("GET", OBJECTS).header("Authorization", header).send().await;
        // The HTTP library itself rejects heads above its limit.
        assert!([401, 431, 400].contains(&answer.status), "{}: {}", header.len(), answer.status);
        assert!(header.len() > 1000 || answer.status == 401, "{header}: {}", answer.status);
    }
}

#[tokio::test]
async fn scheme_of_credentials_is_understood_in_any_case() {
    let server = TestServer::start().await;
    let authorization = server.admin().authorization().unwrap().replace("Basic", "basic");

    server
        .stranger()
        .request("GET", OBJECTS)
        .header("Authorization", &authorization)
        .send()
        .await
        .expect(200);
}

#[tokio::test]
async fn password_that_a_person_chose_is_verified() {
    let server = TestServer::start().await;

    let right = server.caller("management/admin", ADMIN_PASSWORD).get(OBJECTS).await;
    let wrong = server.caller("management/admin", "wrong-secret").get(OBJECTS).await;

    assert_eq!((right.status, wrong.status), (200, 401));
}

#[tokio::test]
async fn disabled_user_is_401() {
    let server = TestServer::start().await;
    let joe = server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;
    server.database().execute("UPDATE users SET enabled = false WHERE name = 'joe'", &[]).await;

    assert_eq!(joe.get(OBJECTS).await.status, 401);
}

#[tokio::test]
async fn suspended_tenant_is_403() {
    let database = TestDatabase::create().await;
    database.insert_tenant("t7", "plant7.example.com").await;
    database.execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = 't7'", &[]).await;
    let server = TestServer::start_on(&database, |_| {}).await;

    assert_eq!(server.caller("t7/admin", ADMIN_PASSWORD).get(OBJECTS).await.status, 403);
    assert_eq!(server.caller("t7/admin", "wrong-secret").get(OBJECTS).await.status, 401);
    assert_eq!(server.admin().get(OBJECTS).await.status, 200);
}

#[tokio::test]
async fn bootstrap_user_may_do_nothing_here() {
    let server = TestServer::start().await;
    let bootstrap = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);

    let list = bootstrap.get("/alarm/alarms").await;
    let create = bootstrap.post(OBJECTS, &json!({})).await;
    let objects = bootstrap.get(OBJECTS).await;

    assert_eq!((list.status, create.status, objects.status), (403, 403, 403), "{}", objects.text);
}

#[tokio::test]
async fn new_password_counts_at_once_and_the_old_one_no_more() {
    let server = TestServer::start().await;
    let joe = server.user_with("joe", &["ROLE_INVENTORY_READ"]).await;
    assert_eq!(joe.get(OBJECTS).await.status, 200, "the credentials are remembered now");

    let hash = platform_front::secrets::password::hash_chosen("new-secret");
    server.database().execute("UPDATE users SET password_hash = $1 WHERE name = 'joe'", &[&hash]).await;
    server.database().notify_user("joe").await;

    let limit = Duration::from_secs(5);
    eventually_within(limit, "the end of the old password", async || {
        (joe.get(OBJECTS).await.status == 401).then_some(())
    })
    .await;
    assert_eq!(server.caller("joe", "new-secret").get(OBJECTS).await.status, 200);
}

#[tokio::test]
async fn new_roles_count_at_once() {
    let server = TestServer::start().await;
    let joe = server.user_with("joe", &[]).await;
    assert_eq!(joe.get("/alarm/alarms").await.status, 403);

    let roles: &[&str] = &["ROLE_ALARM_READ"];
    server.database().execute("UPDATE users SET roles = $1 WHERE name = 'joe'", &[&roles]).await;
    server.database().notify_user("joe").await;

    eventually("the new role", async || (joe.get("/alarm/alarms").await.status == 200).then_some(())).await;
}

#[tokio::test]
async fn wrong_passwords_cost_other_callers_no_latency() {
    let (server, admin) = TestServer::start().await.with_admin();
    admin.read(OBJECTS).await;
    let wrong: Vec<_> = (0..8)
        .map(|n| {
            let caller = server.caller("management/admin", &format!("wrong-secret-{n}"));
            tokio::spawn(async move { caller.get(OBJECTS).await.status })
        })
        .collect();

    for _ in 0..5 {
        assert_eq!(admin.get(OBJECTS).await.status, 200);
    }

    assert!(wrong.iter().any(|attempt| !attempt.is_finished()), "the others did not wait for all of these");
    for attempt in wrong {
        assert_eq!(soon("a refusal", attempt).await.unwrap(), 401);
    }
}
