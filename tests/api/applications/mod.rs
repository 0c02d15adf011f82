//! Applications (docs/rules.md#applications-and-microservices; W-04 to W-09, W-16).

mod clone;
mod create;
mod delete;
mod list;
mod members;
mod secrets;
mod standard;
mod update;
mod visibility;

use std::sync::Arc;

use crate::harness::prelude::*;
use crate::harness::tenants::management;

const APPLICATIONS: &str = "/application/applications";
/// The number of applications that every deployment starts with; all tenants see them.
const STANDARD: usize = 8;

/// A complete body of a web application.
fn hosted(name: &str) -> Value {
    json!({
        "name": name,
        "key": format!("{name}-key"),
        "type": "HOSTED",
        "contextPath": name,
        "resourcesUrl": "/",
    })
}

/// A complete body of a microservice.
fn microservice(name: &str) -> Value {
    json!({"name": name, "key": format!("{name}-key"), "type": "MICROSERVICE"})
}

/// A complete body of a link to a place elsewhere.
fn external(name: &str) -> Value {
    json!({
        "name": name,
        "key": format!("{name}-key"),
        "type": "EXTERNAL",
        "externalUrl": "https://example.com/",
    })
}

/// A body with another value of a member.
fn with(mut body: Value, member: &str, value: Value) -> Value {
    body[member] = value;
    body
}

/// Creates an application and returns its path.
async fn create(caller: &Caller, body: &Value) -> String {
    let id = caller.create(APPLICATIONS, body).await["id"].as_str().unwrap().to_owned();
    format!("{APPLICATIONS}/{id}")
}

/// The id at the end of a path.
fn id_of(path: &str) -> i64 {
    path.rsplit('/').next().unwrap().parse().unwrap()
}

/// A database that has tenant `plant7` too.
async fn two_tenants() -> Arc<TestDatabase> {
    let database = TestDatabase::create().await;
    database.insert_tenant("plant7", "plant7.example.com").await;
    database
}

/// A server with tenants `main` and `plant7`, and its database.
async fn with_two_tenants() -> (TestServer, Arc<TestDatabase>) {
    let database = two_tenants().await;
    (TestServer::start_on(&database, |_| {}).await, database)
}

/// The administrator of tenant `plant7`.
fn plant7(server: &TestServer) -> Caller {
    server.caller("plant7/admin", ADMIN_PASSWORD)
}

/// Subscribes a tenant to an application.
async fn subscribe(database: &TestDatabase, tenant: &str, application: &str) {
    let statement = "INSERT INTO subscriptions (tenant, application, created_at) VALUES ($1, $2, now())";
    database.execute(statement, &[&tenant, &id_of(application)]).await;
}

/// A service user of an application with the password of all administrators and the roles given.
async fn insert_service_user(
    database: &TestDatabase,
    tenant: &str,
    application: &str,
    name: &str,
    roles: &[&str],
) {
    let statement = "INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at, application, duty, \
            sealed_password) \
        SELECT $1, $3, password_hash, true, $4, now(), $2, 'SERVICE', 'x' FROM users \
        WHERE tenant = 'main' AND name = 'admin'";
    database.execute(statement, &[&tenant, &id_of(application), &name, &roles]).await;
}

/// The names of the applications in a list of one page, the standard ones excepted.
async fn names_in(caller: &Caller, path: &str) -> Vec<String> {
    let separator = if path.contains('?') { '&' } else { '?' };
    let page = caller.read(&format!("{path}{separator}pageSize=2000")).await;
    let applications = page["applications"].as_array().unwrap().iter();
    let own = applications.filter(|application| application["owner"]["tenant"]["id"] != "management");
    own.map(|application| application["name"].as_str().unwrap().to_owned()).collect()
}
