//! Tenants (Z-01, Z-02; C-01, C-07).

mod audit;
mod change;
mod create;
mod current;
mod delete;
mod fairness;
mod isolation;
mod limits;
mod list;
mod suspend;

use crate::harness::prelude::*;
use crate::harness::tenants::{TENANTS, create_reseller, create_tenant, management, tenant_of};

/// A user of tenant `management` with exactly these roles.
async fn manager_with(server: &TestServer, name: &str, roles: &[&str]) -> Caller {
    let statement = "INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at) \
        SELECT 'management', $1, password_hash, true, $2, now() FROM users \
        WHERE tenant = 'main' AND name = 'admin'";
    server.database().execute(statement, &[&name, &roles]).await;
    server.caller(&format!("management/{name}"), ADMIN_PASSWORD)
}

/// Returns the ids of all tenants that the caller sees.
async fn ids_seen_by(caller: &Caller) -> Vec<String> {
    let tenants = caller.read("/tenant/tenants?pageSize=2000").await["tenants"].clone();
    tenants.as_array().unwrap().iter().map(|tenant| tenant["id"].as_str().unwrap().to_owned()).collect()
}

/// Tables that hold rows of tenants, by their column `tenant`.
async fn tables_of_tenants(database: &TestDatabase) -> Vec<String> {
    // Partitions are looked at with their table.
    let statement = "SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
        WHERE a.attname = 'tenant' AND c.relkind IN ('r', 'p') AND NOT c.relispartition \
            AND c.relnamespace = 'public'::regnamespace ORDER BY 1";
    database.query(statement, &[]).await.iter().map(|row| row.get(0)).collect()
}

/// Returns the number of rows of a tenant in a table.
async fn rows_of(database: &TestDatabase, table: &str, tenant: &str) -> i64 {
    let statement = format!("SELECT count(*) FROM {table} WHERE tenant = $1");
    database.query(&statement, &[&tenant]).await[0].get(0)
}

/// Returns a server with a tenant below `management`, and the administrator of the tenant.
async fn with_tenant(id: &str) -> (TestServer, Caller) {
    let server = TestServer::start().await;
    let boss = crate::harness::tenants::create_tenant(&server, id).await;
    (server, boss)
}
