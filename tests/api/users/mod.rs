//! Users (docs/rules.md#users-groups-and-roles; U-01 to U-16).

mod at_once;
mod audit;
mod current_user;
mod hostile;
mod last_administrator;
mod lifecycle;
mod list;
mod permissions;
mod roles;
mod sub_users;
mod tenants;

use crate::harness::prelude::*;

/// The users of tenant `main`.
const USERS: &str = "/user/<tenant>/users";

/// Creates a user with password `secret-1`.
async fn create(caller: &Caller, name: &str) -> Value {
    caller.create(USERS, &json!({"userName": name, "password": "secret-1"})).await
}

/// Assigns a role to a user; this must succeed.
async fn assign(caller: &Caller, user: &str, role: &str) {
    caller.create(&format!("{USERS}/{user}/roles"), &json!({"role": {"id": role}})).await;
}

/// Returns a tenant of its own with a user `joe` whose password is `secret-1`, and its administrator.
async fn with_joe() -> (TestServer, Caller) {
    let (server, admin) = TestServer::shared().await.with_admin();
    create(&admin, "joe").await;
    (server, admin)
}
