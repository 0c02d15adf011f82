//! Tenants, for tests of several nouns.

use serde_json::{Value, json};

use super::{ADMIN_PASSWORD, Caller, TestServer};

pub const TENANTS: &str = "/tenant/tenants";

/// The administrator of the installation.
pub fn management(server: &TestServer) -> Caller {
    server.caller("management/admin", ADMIN_PASSWORD)
}

/// A complete body of a tenant; its administrator has the password of all administrators.
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

/// A tenant below `management`; gives its administrator.
pub async fn create_tenant(server: &TestServer, id: &str) -> Caller {
    management(server).create(TENANTS, &tenant_of(id)).await;
    server.caller(&format!("{id}/boss"), ADMIN_PASSWORD)
}
