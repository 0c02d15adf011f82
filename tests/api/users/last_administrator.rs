//! A tenant is never without an administrator, whatever happens at the same moment (U-15).

use super::*;

const ADMINS: &str = "/user/<tenant>/groups/1/users";

/// A server whose tenant has these administrators besides `admin`.
async fn with_administrators(names: &[&str]) -> TestServer {
    let (server, admin) = TestServer::shared().await.with_admin();
    for name in names {
        server.user_with(name, &[]).await;
        admin.create(ADMINS, &json!({"user": {"id": name}})).await;
    }
    server
}

async fn administrators(server: &TestServer) -> i64 {
    let statement = "SELECT count(*) FROM group_members m JOIN users u ON u.tenant = m.tenant AND u.name = m.user_name \
        WHERE m.tenant = $1 AND m.group_id = 1 AND u.enabled";
    server.rows(statement, &[]).await[0].get(0)
}

#[tokio::test]
async fn last_member_of_admins_is_neither_deleted_nor_removed_nor_disabled() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let other = server.user_with("other", &["ROLE_USER_MANAGEMENT_ADMIN"]).await;

    let deleted = other.delete(&format!("{USERS}/admin")).await;
    let removed = other.delete(&format!("{ADMINS}/admin")).await;
    let disabled = other.put(&format!("{USERS}/admin"), &json!({"enabled": false})).await;

    assert_eq!((deleted.status, removed.status, disabled.status), (403, 403, 403), "{}", deleted.text);
    assert!(deleted.message().contains("admins"), "{}", deleted.message());
    assert_eq!(admin.read(&format!("{USERS}/admin")).await["enabled"], true);
}

#[tokio::test]
async fn member_who_cannot_log_in_does_not_count() {
    let server = with_administrators(&["sleeper"]).await;
    server.admin().put(&format!("{USERS}/sleeper"), &json!({"enabled": false})).await;
    server.admin().create(USERS, &json!({"userName": "unborn", "sendPasswordResetEmail": true})).await;
    server.admin().create(ADMINS, &json!({"user": {"id": "unborn"}})).await;

    assert_eq!(server.admin().delete(&format!("{ADMINS}/admin")).await.status, 403);
    assert_eq!(server.admin().delete(&format!("{USERS}/sleeper")).await.status, 204);
    assert_eq!(server.admin().delete(&format!("{ADMINS}/unborn")).await.status, 204);
}

#[tokio::test]
async fn one_of_two_administrators_may_go() {
    let server = with_administrators(&["second"]).await;
    let second = server.caller("second", ADMIN_PASSWORD);

    assert_eq!(second.delete(&format!("{USERS}/admin")).await.status, 204);
    assert_eq!(second.delete(&format!("{ADMINS}/second")).await.status, 403);
}

#[tokio::test]
async fn admins_keep_the_role_by_which_they_administer() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    admin.delete("/user/<tenant>/groups/1/roles/ROLE_USER_MANAGEMENT_ADMIN").await.expect(403);

    assert_eq!(admin.delete("/user/<tenant>/groups/1/roles/ROLE_SMS_ADMIN").await.status, 204);
}

/// Sends requests all at once; none may fail by a fault of the server.
async fn all_at_once(requests: Vec<(Caller, &'static str, String, String)>) -> Vec<u16> {
    let sent: Vec<_> = requests
        .into_iter()
        .map(|(caller, method, path, body)| {
            tokio::spawn(async move {
                let answer = caller.request(method, &path).body(body).send().await;
                assert!(answer.status < 500, "{method} {path}: {} {}", answer.status, answer.text);
                answer.status
            })
        })
        .collect();
    let mut statuses = Vec::new();
    for answer in sent {
        statuses.push(soon("an answer", answer).await.unwrap());
    }
    statuses
}

#[tokio::test]
async fn administrators_who_remove_each_other_leave_one() {
    for round in 0..3 {
        let server = with_administrators(&["a", "b", "c"]).await;
        let names = ["admin", "a", "b", "c"];
        let mut requests = Vec::new();
        for (n, name) in names.iter().enumerate() {
            let victim = names[(n + 1) % names.len()];
            let caller = server.caller(name, ADMIN_PASSWORD);
            caller.read(USERS).await;
            requests.push(match (n + round) % 3 {
                0 => (caller, "DELETE", format!("{USERS}/{victim}"), String::new()),
                1 => (caller, "DELETE", format!("{ADMINS}/{victim}"), String::new()),
                _ => (caller, "PUT", format!("{USERS}/{victim}"), r#"{"enabled":false}"#.to_owned()),
            });
        }

        let statuses = all_at_once(requests).await;

        assert!(administrators(&server).await >= 1, "{statuses:?}");
    }
}

#[tokio::test]
async fn assignments_during_a_deletion_all_get_a_response() {
    let (server, admin) = with_administrators(&[]).await.with_admin();
    for n in 0..4 {
        super::create(&admin, &format!("joe{n}")).await;
        let group =
            admin.create("/user/<tenant>/groups", &json!({"name": format!("g{n}")})).await["id"].to_string();
        let group = format!("/user/<tenant>/groups/{group}");
        let user = format!("{USERS}/joe{n}");
        let member = json!({"user": {"id": format!("joe{n}")}}).to_string();
        let role = |name: &str| json!({"role": {"id": name}}).to_string();
        let mut requests = Vec::new();
        for name in ["ROLE_ALARM_READ", "ROLE_EVENT_READ", "ROLE_AUDIT_READ"] {
            requests.push((admin.clone(), "POST", format!("{user}/roles"), role(name)));
            requests.push((admin.clone(), "POST", format!("{group}/roles"), role(name)));
            requests.push((admin.clone(), "POST", format!("{group}/users"), member.clone()));
            requests.push((
                admin.clone(),
                "POST",
                format!("/user/<tenant>/groups/{}/users", 3 + n),
                member.clone(),
            ));
        }
        requests.push((admin.clone(), "DELETE", format!("{group}/users/joe{n}"), String::new()));
        requests.push((
            admin.clone(),
            "PUT",
            group.clone(),
            r#"{"devicePermissions":{"1":["*:*:*"]}}"#.into(),
        ));
        requests.push((admin.clone(), "PUT", user.clone(), r#"{"enabled":false}"#.into()));
        requests.insert(4, (admin.clone(), "DELETE", group, String::new()));
        requests.insert(8, (admin.clone(), "DELETE", user, String::new()));

        all_at_once(requests).await;
    }
    let orphans = "SELECT 1 FROM group_members m LEFT JOIN users u ON u.tenant = m.tenant AND u.name = m.user_name \
        WHERE m.tenant = $1 AND u.name IS NULL";
    assert_eq!(server.rows(orphans, &[]).await.len(), 0);
}

#[tokio::test]
async fn roles_assigned_at_the_same_moment_are_all_kept() {
    let (server, admin) = TestServer::shared().await.with_admin();
    super::create(&admin, "joe").await;
    let roles =
        ["ROLE_ALARM_READ", "ROLE_EVENT_READ", "ROLE_AUDIT_READ", "ROLE_SMS_READ", "ROLE_ALARM_ADMIN"];
    let request = |role: &&str| {
        (admin.clone(), "POST", format!("{USERS}/joe/roles"), json!({"role": {"id": role}}).to_string())
    };

    let statuses = all_at_once(roles.iter().map(request).collect()).await;

    assert_eq!(statuses, [201; 5]);
    let held = admin.read(&format!("{USERS}/joe/roles?pageSize=50")).await;
    assert_eq!(held["references"].as_array().unwrap().len(), 7);
    assert_eq!(server.audit_records("joe").await.len(), 6);
}

#[tokio::test]
async fn one_of_several_users_and_groups_of_a_name_at_the_same_moment_is_created() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let user = json!({"userName": "joe", "password": "secret-1"}).to_string();
    let group = json!({"name": "g"}).to_string();

    for (path, body) in [(USERS, user), ("/user/<tenant>/groups", group)] {
        let requests = (0..4).map(|_| (admin.clone(), "POST", path.to_owned(), body.clone())).collect();
        let mut statuses = all_at_once(requests).await;
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409, 409, 409], "{path}");
    }
}
