//! Changes of tenants are audited in the tenant that manages them and in their own (Y-07).

use super::*;

/// Returns the activities of the records of a tenant, each with its user.
async fn seen_by(caller: &Caller, tenant: &str) -> Vec<(String, String)> {
    let page = caller.read(&format!("/audit/auditRecords?type=Tenant&source={tenant}&pageSize=100")).await;
    let text = |record: &Value, member: &str| record[member].as_str().unwrap().to_owned();
    let records = page["auditRecords"].as_array().unwrap();
    records.iter().map(|record| (text(record, "activity"), text(record, "user"))).collect()
}

fn pairs(activities: &[&str], user: &str) -> Vec<(String, String)> {
    activities.iter().map(|activity| ((*activity).to_owned(), user.to_owned())).collect()
}

#[tokio::test]
async fn life_of_a_tenant_is_audited() {
    let server = TestServer::start().await;
    let (boss, manager) = (create_tenant(&server, "t7").await, management(&server));
    let path = "/tenant/tenants/t7";
    manager.put(path, &json!({"status": "SUSPENDED"})).await.expect(200);
    manager.put(path, &json!({"status": "SUSPENDED"})).await.expect(200);
    manager.put(path, &json!({"contactName": "Ann"})).await.expect(200);
    manager.put(path, &json!({"status": "ACTIVE"})).await.expect(200);
    manager.put(path, &json!({"allowCreateTenants": true})).await.expect(200);
    let own = seen_by(&boss, "t7").await;
    manager.put(path, &json!({"adminPass": "another-secret"})).await.expect(200);
    manager.delete(path).await.expect(204);

    let first = ["Tenant created", "Tenant suspended", "Tenant resumed", "Tenant update"];
    assert_eq!(own, pairs(&first, "management/admin"));
    let all = [&first[..], &["Tenant update", "Tenant deleted"]].concat();
    assert_eq!(seen_by(&manager, "t7").await, pairs(&all, "admin"));
    let page = manager.read("/audit/auditRecords?type=Tenant&pageSize=100").await;
    assert!(!page.to_string().contains("another-secret"), "{page}");
}
