//! The groups every tenant has (U-10).

use super::*;

/// Names and numbers of roles of the groups of a tenant, in order.
async fn groups(database: &TestDatabase, tenant: &str) -> Vec<(i64, String, i32)> {
    let statement = "SELECT id, name, cardinality(roles) FROM groups WHERE tenant = $1 ORDER BY id";
    let rows = database.query(statement, &[&tenant]).await;
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

#[tokio::test]
async fn tenants_of_the_first_start_have_the_default_groups() {
    let (server, admin) = TestServer::start().await.with_admin();

    let page = admin.read("/user/main/groups?pageSize=50").await;

    let names: Vec<_> =
        page["groups"].as_array().unwrap().iter().map(|group| group["name"].clone()).collect();
    let expected = [
        "admins",
        "devices",
        "business",
        "readers",
        "CEP Manager",
        "Cockpit User",
        "Device management User",
        "Global Manager",
        "Global Reader",
        "Global User Manager",
        "Shared User Manager",
        "Tenant Manager",
    ];
    assert_eq!(names, expected);
    assert_eq!(groups(server.database(), "main").await, groups(server.database(), "management").await);
    assert_eq!(groups(server.database(), "main").await[0], (1, "admins".into(), 48));
}

#[tokio::test]
async fn administrator_of_the_first_start_has_its_rights_by_the_group() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let user = admin.read("/user/<tenant>/users/admin").await;

    let references = |name: &str| user[name]["references"].as_array().unwrap().clone();
    assert_eq!(references("groups").len(), 1);
    assert_eq!(references("groups")[0]["group"]["name"], "admins");
    assert_eq!(references("roles").len(), 2, "only those of every user");
    let current = admin.read("/user/currentUser").await;
    assert_eq!(current["effectiveRoles"].as_array().unwrap().len(), 48);
}

#[tokio::test]
async fn tenant_from_before_there_were_groups_gets_them_at_start() {
    let database = TestDatabase::create().await;
    database.insert_tenant("t7", "plant7.example.com").await;
    database
        .execute(
            "UPDATE users SET roles = (SELECT roles FROM groups WHERE tenant = 'main' AND name = 'admins') \
                WHERE tenant = 't7'",
            &[],
        )
        .await;
    database.execute("DELETE FROM groups WHERE tenant = 't7'", &[]).await;
    database.execute("UPDATE tenants SET last_group = 0 WHERE id = 't7'", &[]).await;

    let server = TestServer::start_on(&database, |_| {}).await;

    assert_eq!(groups(&database, "t7").await, groups(&database, "main").await);
    let admin = server.caller("t7/admin", ADMIN_PASSWORD);
    let members = admin.read("/user/t7/groups/1/users").await;
    assert_eq!(members["references"][0]["user"]["id"], "admin", "who held every role administers");
}

#[tokio::test]
async fn start_keeps_what_was_changed() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    assert_eq!(server.admin().delete("/user/<tenant>/groups/3").await.status, 204);
    assert_eq!(server.admin().delete("/user/<tenant>/groups/2/roles/ROLE_IDENTITY_READ").await.status, 204);
    let before = groups(&database, "main").await;
    server.stop().await;

    TestServer::start_on(&database, |_| {}).await;

    assert_eq!(groups(&database, "main").await, before);
}

/// The migration that changed the group `devices` of existing tenants.
const RIGHTS_OF_DEVICES: &str = include_str!("../../../sql/migrations/V22__rights_of_devices.sql");

#[tokio::test]
async fn group_devices_of_before_loses_two_roles_unless_it_was_edited() {
    let database = TestDatabase::create().await;
    for tenant in ["edited", "reduced"] {
        database.insert_tenant(tenant, &format!("{tenant}.example.com")).await;
    }
    let roles_of = async |tenant: &str| {
        let statement = "SELECT roles FROM groups WHERE tenant = $1 AND name = 'devices'";
        database.query(statement, &[&tenant]).await[0].get::<_, Vec<String>>(0)
    };
    let of_now = roles_of("main").await;
    assert_eq!(of_now.len(), 6, "{of_now:?}");
    let before = "UPDATE groups SET roles = roles || '{ROLE_IDENTITY_ADMIN,ROLE_DEVICE_CONTROL_READ}' \
        WHERE name = 'devices'";
    database.execute(before, &[]).await;
    let edit =
        "UPDATE groups SET roles = roles || '{ROLE_ALARM_READ}' WHERE tenant = 'edited' AND name = 'devices'";
    database.execute(edit, &[]).await;
    let reduce = "UPDATE groups SET roles = array_remove(roles, 'ROLE_INVENTORY_CREATE') \
        WHERE tenant = 'reduced' AND name = 'devices'";
    database.execute(reduce, &[]).await;
    let (edited, reduced) = (roles_of("edited").await, roles_of("reduced").await);

    database.run_script(RIGHTS_OF_DEVICES).await;

    assert_eq!(roles_of("main").await, of_now);
    assert_eq!((roles_of("edited").await, roles_of("reduced").await), (edited, reduced));
}

#[tokio::test]
async fn tenant_created_by_command_has_groups_and_an_administrator() {
    let directory = scratch();
    let program = Program::serve(directory.path());
    let arguments = [
        "admin",
        "tenant",
        "create",
        "t7",
        "--domain",
        "plant7.example.com",
        "--company",
        "Acme",
        "--admin-user",
        "boss",
        "--admin-password",
        "first-secret",
    ];
    let output = run(Program::command(directory.path(), &arguments), "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let boss = crate::harness::Caller::new(program.base(), Some(("t7/boss", "first-secret")));

    let group = boss.read("/user/t7/groupByName/admins").await;
    assert_eq!(group["users"]["references"][0]["user"]["userName"], "boss");
    assert_eq!(boss.delete("/user/t7/users/boss").await.status, 403);
}
