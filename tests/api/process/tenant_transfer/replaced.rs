//! A tenant goes back to the rows that it had when the whole database was backed up, while others go on.

use super::deployments::{Acme, CONSUMER};
use super::*;
use crate::harness::modules::measure;
use crate::harness::tenants::{TENANTS, create_tenant, management};

#[tokio::test]
async fn suspended_tenant_is_replaced_by_its_rows_in_a_backup_and_goes_on_from_there() {
    let (scratch, server) = (scratch(), TestServer::start().await);
    let boss = create_tenant(&server, "acme").await;
    let acme = Acme::fill(&server, &boss).await;
    let sub_tenant = json!({"allowCreateTenants": true});
    let path = format!("{TENANTS}/acme");
    management(&server).put(&path, &sub_tenant).await.expect(200);
    let before = acme.lists(&boss).await;
    let other = create_tenant(&server, "other").await;
    succeed(on(server.database(), scratch.path(), &["backup"], &["monday.zip"]));

    // The mistakes of a day. The server knows then which series the pump sends.
    measure(&boss, &acme.pump, 8).await;
    boss.raise_alarm(&acme.pump, "later").await;
    boss.delete("/user/acme/users/joe").await.expect(204);
    boss.delete("/tenant/options/mail/credentials.password").await.expect(204);
    other.create_device("valve").await;
    let restored = TestDatabase::create_empty().await;
    succeed(on(&restored, scratch.path(), &["restore"], &["monday.zip"]));
    export(&restored, scratch.path(), "acme", "acme.tenant");
    let replace = |more: &[&str]| {
        on(server.database(), scratch.path(), &IMPORT, &[&["acme.tenant", "--replace"], more].concat())
    };
    refuse(replace(&[]), "tenant acme is ACTIVE; suspend it");
    refuse(replace(&["--as", "absent", "--domain", "absent.example.com"]), "no tenant with id 'absent'");
    management(&server).put(&path, &json!({"status": "SUSPENDED"})).await.expect(200);
    let said = succeed(replace(&["--dry-run"]));
    assert!(said.contains("acme (plant-acme.example.com) could be imported"), "{said}");
    assert_eq!(server.database().count("users WHERE name = 'joe'").await, 0);

    succeed(replace(&[]));

    assert_eq!(acme.lists(&boss).await, before);
    let unread = boss.read(&format!("{CONSUMER}/notifications?wait=5&acknowledge={}", acme.position)).await;
    assert_eq!(unread["recovered"], true, "{unread}");
    acme.goes_on(&server, "acme").await;
    let measured = boss.read(&format!("{MEASUREMENTS}?source={}", acme.pump)).await;
    assert_eq!(ids(&measured, "measurements").len(), 1, "{measured}");
    let shapes =
        "source_shapes JOIN measurement_shapes m USING (tenant) WHERE tenant = 'acme' AND shape = m.id";
    assert_eq!(server.database().count(shapes).await, 1, "the server has not skipped what it once stored");
    assert_eq!(ids(&other.read(OBJECTS).await, "managedObjects").len(), 1, "other tenants went on");
}

#[tokio::test]
async fn tenant_whose_applications_others_use_is_not_replaced() {
    let (scratch, server) = (scratch(), TestServer::start().await);
    let boss = create_tenant(&server, "acme").await;
    create_tenant(&server, "other").await;
    let application = json!({
        "name": "own",
        "key": "own",
        "type": "EXTERNAL",
        "externalUrl": "http://h",
        "availability": "MARKET",
    });
    let application = boss.create("/application/applications", &application).await;
    let subscription = json!({"application": {"id": application["id"]}});
    management(&server).post("/tenant/tenants/other/applications", &subscription).await.expect(201);
    export(server.database(), scratch.path(), "acme", "acme.tenant");
    management(&server).put(&format!("{TENANTS}/acme"), &json!({"status": "SUSPENDED"})).await.expect(200);

    let replace = on(server.database(), scratch.path(), &IMPORT, &["acme.tenant", "--replace"]);
    refuse(replace, "applications of acme, which would end: other");

    assert_eq!(server.database().count("subscriptions WHERE tenant = 'other'").await, 1);
}
