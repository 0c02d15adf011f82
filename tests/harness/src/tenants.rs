//! Tenants, for tests of several nouns.

use serde_json::{Value, json};

use super::{ADMIN_PASSWORD, Caller, TestServer};

pub const TENANTS: &str = "/tenant/tenants";

/// Returns the administrator of tenant `management`.
pub fn management(server: &TestServer) -> Caller {
    server.caller("management/admin", ADMIN_PASSWORD)
}

/// Returns a complete body of a tenant, whose administrator has the password of all administrators.
pub fn tenant_of(id: &str) -> Value {
    json!({
        "id": id,
        "domain": format!("plant-{id}.example.com"),
        "company": "Acme",
        "adminName": "boss",
        "adminPass": ADMIN_PASSWORD,
        "adminEmail": "boss@example.com",
    })
}

/// Creates a tenant below `management` and returns its administrator.
pub async fn create_tenant(server: &TestServer, id: &str) -> Caller {
    management(server).create(TENANTS, &tenant_of(id)).await;
    server.caller(&format!("{id}/boss"), ADMIN_PASSWORD)
}

/// Creates a tenant below `management` that may have sub-tenants and returns its administrator.
pub async fn create_reseller(server: &TestServer, id: &str) -> Caller {
    create_reseller_below(server, &management(server), id).await
}

/// Creates a tenant below the caller's that may have sub-tenants and returns its administrator.
pub async fn create_reseller_below(server: &TestServer, parent: &Caller, id: &str) -> Caller {
    let mut body = tenant_of(id);
    body["allowCreateTenants"] = json!(true);
    parent.create(TENANTS, &body).await;
    server.caller(&format!("{id}/boss"), ADMIN_PASSWORD)
}
