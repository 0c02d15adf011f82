//! Limits of tenants (Z-20).

mod quotas;
mod rates;
mod rights;
mod two_servers;
mod values;

use serde_json::{Value, json};

use super::{create_reseller, create_tenant, management};
use crate::harness::{
    ADMIN_PASSWORD, Caller, OBJECTS, REALTIME, Socket, TestDatabase, TestServer, eventually,
};

const OWN: &str = "/tenant/limits";

fn path_of(tenant: &str) -> String {
    format!("/tenant/tenants/{tenant}/limits")
}

/// Sets limits as the administrator of tenant `management`.
async fn set(server: &TestServer, tenant: &str, limits: Value) -> Value {
    management(server).put(&path_of(tenant), &limits).await.expect(200).json()
}

/// Reads one of the limits of the caller's tenant.
async fn limit(caller: &Caller, name: &str) -> Value {
    caller.read(OWN).await["limits"][name].clone()
}
