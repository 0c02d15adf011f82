//! The column TENANT (docs/rules.md#bulk-registration; N-16).

use super::*;

async fn two_tenants() -> (TestServer, Caller) {
    let database = TestDatabase::create().await;
    for tenant in ["north", "south"] {
        database.insert_tenant(tenant, &format!("{tenant}.example.com")).await;
    }
    let server = TestServer::start_on(&database, |_| {}).await;
    let management = server.caller("management/admin", ADMIN_PASSWORD);
    (server, management)
}

#[tokio::test]
async fn management_tenant_registers_devices_in_others() {
    let (server, management) = two_tenants().await;

    let file = format!(
        "TENANT;ID;CREDENTIALS;TYPE;NAME;PATH\n\
         north;a1;{SECRET};t;n;Hall\nsouth;a1;{SECRET};t;n;Hall\nmanagement;a1;{SECRET};t;n;Hall\n\
             north;a2;{SECRET};;;\n"
    );
    assert_eq!(register(&management, file).await, all_created(4));

    for tenant in ["north", "south", "management"] {
        let device = server.caller(&format!("{tenant}/device_a1"), SECRET);
        assert_eq!(object_of(&device, "plat_Serial", "a1").await["owner"], "device_a1", "{tenant}");
    }
    assert!(comes_in(&server.caller("north/device_a2", SECRET)).await);
    let groups = "SELECT tenant, owner FROM managed_objects WHERE name = 'Hall' ORDER BY tenant";
    let groups = server.database().query(groups, &[]).await;
    let owners: Vec<(&str, &str)> = groups.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(
        owners,
        [("management", "admin"), ("north", "management/admin"), ("south", "management/admin")]
    );
}

#[tokio::test]
async fn unknown_and_suspended_tenants_fail_their_rows_alone() {
    let (server, management) = two_tenants().await;
    server.database().execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = 'south'", &[]).await;

    let file = format!(
        "TENANT;ID;CREDENTIALS;TYPE;NAME\nnowhere;a1;{SECRET};t;n\nNo Tenant;a2;{SECRET};t;n\n;a3;{SECRET};t;n\n\
         south;a4;{SECRET};t;n\nnorth;a5;{SECRET};t;n\n"
    );
    let result = register(&management, file).await;

    assert_eq!(counts(&result), [5, 1, 4, 1]);
    let failed = failures(&result);
    for ((id, reason), text) in failed.iter().zip(["nowhere", "No Tenant", "TENANT", "suspended"]) {
        assert!(reason.contains(text), "{id}: {reason}");
    }
    assert_eq!(
        result["failedCreationList"][0]["line"],
        "DeviceInfo{id='a1', credentials='***', tenant='nowhere'}"
    );
    assert_eq!(server.database().count("managed_objects").await, 1);
}

#[tokio::test]
async fn management_tenant_must_name_tenants_and_passwords() {
    let (_server, management) = two_tenants().await;

    for (file, text) in [
        ("ID;CREDENTIALS\na1;secret-of-a-machine\n", "included: TENANT"),
        ("ID;TENANT\na1;north\n", "included: CREDENTIALS"),
        ("ID\na1\n", "included: CREDENTIALS,TENANT"),
    ] {
        let answer = upload(&management, file).await.expect(422);
        assert!(answer.message().contains(text), "{file}: {}", answer.message());
    }
}

#[tokio::test]
async fn tenant_that_another_than_the_management_tenant_names_is_ignored() {
    let (server, _) = two_tenants().await;
    let north = server.caller("north/admin", ADMIN_PASSWORD);

    let file = format!(
        "ID;CREDENTIALS;TENANT\na1;{SECRET};south\na2;{SECRET};nowhere\na3;{SECRET};management\na4;x;south\n"
    );
    let result = register(&north, file).await;

    assert_eq!(counts(&result), [4, 3, 1, 3]);
    let users = "SELECT DISTINCT tenant FROM users WHERE name LIKE 'device\\_%'";
    let tenants: Vec<String> =
        server.database().query(users, &[]).await.iter().map(|row| row.get(0)).collect();
    assert_eq!(tenants, ["north"]);
    assert_eq!(
        result["failedCreationList"][0]["line"],
        "DeviceInfo{id='a4', credentials='***', tenant='north'}"
    );
}

#[tokio::test]
async fn same_id_is_a_duplicate_in_one_tenant_only() {
    let (_server, management) = two_tenants().await;

    let file = format!("TENANT;ID;CREDENTIALS\nnorth;a1;{SECRET}\nsouth;a1;{SECRET}\nnorth;a1;{SECRET}\n");
    let result = register(&management, file).await;

    assert_eq!(counts(&result), [3, 2, 1, 2]);
    assert!(failures(&result)[0].1.starts_with("Line 4: Duplicate ID"), "{result}");
}
