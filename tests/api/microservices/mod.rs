//! Subscriptions, and the users of microservices (docs/rules.md#applications-and-microservices; W-10 to W-13, U-03,
//! Z-03).

mod bootstrap_user;
mod current_application;
mod hostile;
mod offers;
mod races;
mod roles;
mod secrets;
mod service_users;
mod settings;
mod several_servers;
mod subscriptions;
mod tenants;

use crate::harness::prelude::*;
use crate::harness::tenants::{create_reseller, create_reseller_below, management};

const APPLICATIONS: &str = "/application/applications";
const CURRENT: &str = "/application/currentApplication";
const SUBSCRIPTIONS: &str = "/application/currentApplication/subscriptions";
const SETTINGS: &str = "/application/currentApplication/settings";

/// A complete body of a microservice that everybody may subscribe to.
fn microservice(name: &str) -> Value {
    json!({"name": name, "key": format!("{name}-key"), "type": "MICROSERVICE", "availability": "MARKET"})
}

/// A complete body of a link to a place elsewhere, of its owner alone.
fn external(name: &str) -> Value {
    json!({"name": name, "key": format!("{name}-key"), "type": "EXTERNAL", "externalUrl": "https://example.com/"})
}

/// Creates an application and returns its id.
async fn create_application(owner: &Caller, body: &Value) -> String {
    owner.create(APPLICATIONS, body).await["id"].as_str().unwrap().to_owned()
}

/// The subscriptions of a tenant.
fn of_tenant(tenant: &str) -> String {
    format!("/tenant/tenants/{tenant}/applications")
}

/// Body that names an application.
fn reference(application: &str) -> Value {
    json!({"application": {"id": application}})
}

/// Subscribes a tenant and returns the answer's body.
async fn subscribe(by: &Caller, tenant: &str, application: &str) -> Value {
    by.create(&of_tenant(tenant), &reference(application)).await
}

/// Ends a subscription.
async fn unsubscribe(by: &Caller, tenant: &str, application: &str) {
    by.delete(&format!("{}/{application}", of_tenant(tenant))).await.expect(204);
}

/// Returns a caller with the credentials of a microservice's user.
fn acting(server: &TestServer, user: &Value) -> Caller {
    let name = format!("{}/{}", user["tenant"].as_str().unwrap(), user["name"].as_str().unwrap());
    server.caller(&name, user["password"].as_str().unwrap())
}

/// A microservice as its bootstrap user.
async fn bootstrap(server: &TestServer, owner: &Caller, application: &str) -> Caller {
    let user = owner.read(&format!("{APPLICATIONS}/{application}/bootstrapUser")).await;
    acting(server, &user)
}

/// Returns the service users that the server shows to a microservice.
async fn service_users(bootstrap: &Caller) -> Vec<Value> {
    bootstrap.read(SUBSCRIPTIONS).await["users"].as_array().unwrap().clone()
}

/// A microservice as its service user in a tenant.
async fn service_in(server: &TestServer, bootstrap: &Caller, tenant: &str) -> Caller {
    let users = service_users(bootstrap).await;
    let user = users.iter().find(|user| user["tenant"] == tenant);
    acting(server, user.unwrap_or_else(|| panic!("no user in {tenant}: {users:?}")))
}

/// Creates a microservice of tenant `main` with these additional members, subscribes the tenants, and returns its
/// bootstrap user.
async fn serve(server: &TestServer, name: &str, more: Value, tenants: &[&str]) -> (String, Caller) {
    let mut body = microservice(name);
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let id = create_application(&server.admin(), &body).await;
    for tenant in tenants {
        subscribe(&management(server), tenant, &id).await;
    }
    let bootstrap = bootstrap(server, &server.admin(), &id).await;
    (id, bootstrap)
}

/// Returns the names of the caller's effective roles, as `currentUser` shows them.
async fn effective_roles(caller: &Caller) -> Vec<String> {
    let user = caller.read("/user/currentUser").await;
    let roles = user["effectiveRoles"].as_array().unwrap();
    roles.iter().map(|role| role["name"].as_str().unwrap().to_owned()).collect()
}

/// Waits until a request of the caller gets this status.
async fn until_answered(caller: &Caller, path: &str, status: u16) {
    until(&format!("{status} for GET {path}"), async || caller.get(path).await.status == status).await;
}
