//! Regional addresses and proxies: the tenant of a host, and the beginning of links
//! (docs/rules.md#tenants-and-credentials; C-01, C-15).

mod addresses;
mod proxies;

use platform_front::config::Settings;
use serde_json::json;

use crate::harness::{ADMIN_PASSWORD, Caller, OBJECTS, Request, TestDatabase, TestServer};

/// A server that knows a tenant `t7` with the domain `plant7.example.com`, and one object in each tenant.
async fn two_tenants(change: impl FnOnce(&mut Settings)) -> TestServer {
    let database = TestDatabase::create().await;
    database.insert_tenant("t7", "plant7.example.com").await;
    let server = TestServer::start_on(&database, change).await;
    server.admin().create(OBJECTS, &json!({"name": "in main"})).await;
    server.caller("t7/admin", ADMIN_PASSWORD).create(OBJECTS, &json!({"name": "in t7"})).await;
    server
}

fn behind_a_proxy(settings: &mut Settings) {
    settings.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
}

/// A GET of the objects with these headers.
fn asks(caller: &Caller, headers: &[(&str, &str)]) -> Request {
    let request = caller.request("GET", OBJECTS);
    headers.iter().fold(request, |request, (name, value)| request.header(name, value))
}

/// Status, the only object that is seen, and the start of its link.
async fn sees(caller: &Caller, headers: &[(&str, &str)]) -> (u16, String, String) {
    let answer = asks(caller, headers).send().await;
    let object = answer.json()["managedObjects"][0].clone();
    let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
    let link = text("self");
    let base = link.split_once(OBJECTS).map_or("", |(base, _)| base).to_owned();
    (answer.status, text("name"), base)
}

/// The result of [`sees`] for an object of a tenant.
fn seen(tenant: &str, base: &str) -> (u16, String, String) {
    (200, format!("in {tenant}"), base.to_owned())
}
