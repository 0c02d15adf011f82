//! The route table: path, methods and handlers, one line each. The header `Allow` is derived from it. The realtime
//! paths come first, because they are requested most.

mod certificates;
mod path;

use actix_web::guard::fn_guard;
use actix_web::http::Uri;
use actix_web::{HttpRequest, HttpResponse, Resource, Route, web};
use platform_model::realtime::bayeux::channel::Endpoint;

use crate::api::{
    access_tokens, account_limits, alarms, application_binaries, applications, audit, bulk_operations,
    bulk_registration, consumer_notifications, consumers, current_application, current_user,
    device_credentials, documentation, entry, error_page, event_binaries, events, groups,
    hosted_applications, identity, inventory, inventory_binaries, inventory_children, inventory_parents,
    login_tokens, measurement_series, measurements, modules, new_device_requests, notification_diagnosis,
    operation_diagnosis, operations, options, retention, roles, second_factor, sessions, statistics,
    subscriptions, tenant_limits, tenants, token_clients, traces, user_tokens, users,
};
use crate::auth::{AnyCaller, Caller};
use crate::console::{self, log_out, single_sign_on};
use crate::csv;
use crate::health::{self, Metrics};
use crate::http::error::{ApiError, Result, Shape};
use crate::http::path::collapsed;
use crate::lane::{NewData, Resource as LaneResource};
use crate::long_polling;
use crate::realtime::websocket;
use crate::requests::RouteDurations;
use path::{Path, at, open};

/// Registers every path of the server.
pub fn table(app: &mut web::ServiceConfig, metrics: Metrics) {
    app.service(root()).app_data(metrics);
    let paths = paths().into_iter().filter(|path| metrics == Metrics::Here || path.pattern != METRICS);
    enter(app, paths.map(Path::into_resource));
}

/// Registers the paths for operators' tools, which may have an address of their own.
pub fn table_of_operators(app: &mut web::ServiceConfig) {
    app.app_data(Metrics::Here);
    enter(app, of_operators().into_iter().map(Path::into_resource));
}

/// Creates the resource of `/`: browsers get the console, and clients of the API get what any unknown path returns.
fn root() -> Resource {
    let of_browsers = |route: Route| route.guard(fn_guard(console::wants_page)).to(console::page);
    let resource = web::resource("/").app_data(RouteDurations::new("/"));
    let resource = resource.route(of_browsers(web::get())).route(of_browsers(web::head()));
    resource.default_service(web::to(no_such_path))
}

/// Registers every path that rows of the CSV protocol may call. Paths that hold a connection, and `/s` itself, are
/// rejected (S-28).
pub fn table_of_rows(app: &mut web::ServiceConfig) {
    let (reserved, free): (Vec<_>, Vec<_>) = paths().into_iter().partition(|path| path.reserved);
    let refuse = |path: Path| web::resource(path.pattern).default_service(web::to(refuse_rows));
    // These paths are rejected whether or not they exist (S-28a).
    let notifications = web::resource(["/notification", "/notification/{path:.*}"]);
    let notifications = notifications.default_service(web::to(refuse_rows));
    // The paths that rows may call come first.
    let free = free.into_iter().map(Path::into_resource);
    enter(app, free.chain(reserved.into_iter().map(refuse)).chain([notifications]));
}

fn enter(app: &mut web::ServiceConfig, resources: impl Iterator<Item = Resource>) {
    for resource in resources {
        app.service(resource);
    }
    app.app_data(RouteDurations::new("unknown")).default_service(web::to(no_such_path));
}

async fn refuse_rows(_: AnyCaller) -> Result<HttpResponse> {
    Err(ApiError::forbidden_because("rows of the CSV protocol may not call this path"))
}

/// Returns every path with the methods it supports, in the format of the `Allow` header. Tests must cover all of them.
pub fn listed() -> Vec<(String, String)> {
    paths().into_iter().map(|path| (path.pattern.clone(), path.allow())).collect()
}

const METRICS: &str = "/metrics";

/// The Bayeux endpoints (B-01), including the deprecated paths.
const BAYEUX: [(&str, Endpoint); 5] = [
    ("/notification/realtime", Endpoint::Realtime),
    ("/cep/realtime", Endpoint::Realtime),
    ("/cep/notifications", Endpoint::Realtime),
    ("/notification/operations", Endpoint::Operations),
    ("/devicecontrol/notifications", Endpoint::Operations),
];

/// The long polls of named consumers (B-29).
const CONSUMER_POLLS: &str = "/notification/consumers/{name}/notifications";

/// The paths of microservices (W-14).
const SERVICES: &str = "/service/";

/// Returns whether a target can be upgraded to a WebSocket: the Bayeux endpoints and the paths of microservices. Offers
/// to all others are ignored (C-21).
pub(crate) fn takes_upgrades(target: &str) -> bool {
    let Ok(uri) = Uri::try_from(target) else { return false };
    let uri = collapsed(&uri).unwrap_or(uri);
    uri.path().starts_with(SERVICES) || BAYEUX.iter().any(|(path, _)| *path == uri.path())
}

/// Returns the Bayeux paths with a message type appended, as clients of the reference implementation send them (B-19a).
fn bayeux_with_message_types() -> impl Iterator<Item = (String, Endpoint)> {
    let types = ["connect", "handshake", "disconnect"].into_iter();
    types.flat_map(|word| BAYEUX.map(|(path, endpoint)| (format!("{path}/{word}"), endpoint)))
}

/// Returns every path of the fast lane, the most frequent ones first.
pub(crate) fn of_lane() -> impl Iterator<Item = (String, LaneResource)> {
    let writes = [
        ("/measurement/measurements", NewData::Measurements),
        ("/alarm/alarms", NewData::Alarm),
        ("/event/events", NewData::Event),
    ];
    let consumers = [(CONSUMER_POLLS.to_owned(), LaneResource::Consumer)];
    let polls = BAYEUX.map(|(path, endpoint)| (path.to_owned(), LaneResource::Polls(endpoint)));
    let writes = writes.map(|(path, data)| (path.to_owned(), LaneResource::Data(data)));
    let with_types =
        bayeux_with_message_types().map(|(path, endpoint)| (path, LaneResource::Polls(endpoint)));
    polls.into_iter().chain(writes).chain(consumers).chain(with_types)
}

/// Returns the paths of the blocks of parents, which can only be read (I-03b).
fn parents() -> [Path; 2] {
    let block = "/inventory/managedObjects/{id}/{block:deviceParents|assetParents|additionParents}";
    [at(block).get(inventory_parents::list), at(&format!("{block}/{{child}}")).get(inventory_parents::get)]
}

/// Returns the paths of the requesting user, of the access tokens that it requests for itself, and of second factors.
/// The tokens work on a full disk, because an administrator logs in to make room.
fn of_current_user() -> [Path; 7] {
    let tokens = at("/user/currentUser/tokens").get(user_tokens::list).without_room_too();
    let token = at("/user/currentUser/tokens/{id}").get(user_tokens::get).without_room_too();
    [
        at("/user/currentUser").get(current_user::get).put(current_user::update),
        tokens.post(user_tokens::create).delete(user_tokens::remove_all).reserved(),
        token.put(user_tokens::renew).delete(user_tokens::remove).reserved(),
        at("/user/currentUser/totpSecret")
            .post(second_factor::create)
            .delete(second_factor::remove)
            .reserved(),
        at("/user/currentUser/totpSecret/verify").post(second_factor::verify).reserved(),
        at("/user/currentUser/totpSecret/activity").get(second_factor::get).reserved(),
        at("/user/{tenant}/users/{user}/totpSecret").delete(second_factor::remove_of_user),
    ]
}

/// Returns the paths of the ways to log in. A log-in works on a full disk, because an administrator logs in to make
/// room.
fn of_login_options() -> [Path; 2] {
    let tokens = at("/tenant/loginOptions/oauth2/tokens").without_room_too();
    [
        at("/tenant/loginOptions").get(tenants::list_login_options),
        tokens.post(login_tokens::create).reserved(),
    ]
}

/// Returns the paths of the console. A log-in works on a full disk, because an administrator logs in to make room.
fn of_console() -> [Path; 7] {
    let by_token = at("/console/sso/backchannel-logout").without_room_too();
    [
        at("/console/login").without_room_too().put(console::keep_log_in).reserved(),
        at("/console/sso").get(single_sign_on::begin).reserved(),
        at("/console/sso/callback").get(single_sign_on::finish).reserved(),
        at("/console/sso/logout").get(log_out::at_provider).reserved(),
        by_token.post(log_out::by_token).reserved(),
        at("/console/sso/frontchannel-logout").get(log_out::in_frame).reserved(),
        at("/console/{file}").get(console::file).announcing_head().reserved(),
    ]
}

/// Returns the paths of named consumers. They are set back and forth on a full disk, too.
fn of_consumers() -> [Path; 4] {
    let consumer = at("/notification/consumers/{name}").get(consumers::get).without_room_too();
    [
        at("/notification/consumers").get(consumers::list).post(consumers::create).reserved(),
        consumer.put(consumers::update).delete(consumers::remove).reserved(),
        at(CONSUMER_POLLS).get(consumer_notifications::poll).reserved(),
        at("/notification/consumers/{name}/events").get(consumer_notifications::events).reserved(),
    ]
}

/// Returns the paths of traces and of the diagnosis of notifications, which are useful on a full disk, too.
fn of_traces() -> [Path; 4] {
    let traces = at("/notification/traces").get(traces::list).without_room_too().post(traces::create);
    let trace = at("/notification/traces/{id}").get(traces::get).without_room_too().delete(traces::remove);
    [
        traces.reserved(),
        trace.reserved(),
        at("/notification/traces/{id}/records").get(traces::list_records).reserved(),
        at("/notification/diagnosis").get(notification_diagnosis::get).reserved(),
    ]
}

#[rustfmt::skip]
fn paths() -> Vec<Path> {
    let mut paths = Vec::new();
    for (path, endpoint) in BAYEUX {
        let path = at(path).reserved().without_room_too();
        paths.push(match endpoint {
            Endpoint::Realtime => path.get(websocket::realtime).post(long_polling::realtime),
            Endpoint::Operations => path.get(websocket::operations).post(long_polling::operations),
        });
    }
    paths.push(at("/s").without_room_too().post(csv::create).reserved());
    for (path, endpoint) in bayeux_with_message_types() {
        let path = at(&path).reserved().without_room_too();
        paths.push(match endpoint {
            Endpoint::Realtime => path.post(long_polling::realtime),
            Endpoint::Operations => path.post(long_polling::operations),
        });
    }

    // The paths to which devices write come before paths with variables, which take longer to match.
    paths.push(at("/measurement/measurements").get(measurements::list).delete(measurements::remove_many)
        .without_room_too().post(measurements::create));
    paths.push(at("/alarm/alarms").get(alarms::list).put(alarms::update_many).delete(alarms::remove_many)
        .without_room_too().post(alarms::create));
    paths.push(at("/event/events").get(events::list).delete(events::remove_many).without_room_too()
        .post(events::create));
    paths.push(at("/devicecontrol/operations").get(operations::list).delete(operations::remove_many)
        .without_room_too().post(operations::create));
    paths.push(at("/inventory/managedObjects").get(inventory::list).without_room_too().post(inventory::create));

    paths.push(at("/alarm/alarms/count").get(alarms::count));
    paths.push(at("/alarm/alarms/{id}").get(alarms::get).without_room_too().put(alarms::update));
    paths.push(at("/event/events/{id}").get(events::get).delete(events::remove).without_room_too().put(events::update));
    paths.push(at("/event/events/{id}/binaries").get(event_binaries::get).post(event_binaries::create)
        .put(event_binaries::update).delete(event_binaries::remove));
    paths.push(at("/measurement/measurements/series").get(measurement_series::get));
    paths.push(at("/measurement/measurements/{id}").get(measurements::get).delete(measurements::remove));

    paths.push(at("/devicecontrol/operations/{id}").get(operations::get).without_room_too().put(operations::update));
    paths.push(at("/devicecontrol/operations/{id}/diagnosis").get(operation_diagnosis::get));

    paths.push(at("/inventory/managedObjects/{id}").get(inventory::get).delete(inventory::remove).without_room_too()
        .put(inventory::update));
    paths.push(at("/inventory/managedObjects/{id}/supportedMeasurements").get(inventory::supported_measurements));
    paths.push(at("/inventory/managedObjects/{id}/supportedSeries").get(inventory::supported_series));
    paths.push(at("/inventory/managedObjects/{id}/{block:childDevices|childAssets|childAdditions}")
        .get(inventory_children::list).post(inventory_children::create));
    paths.push(at("/inventory/managedObjects/{id}/{block:childDevices|childAssets|childAdditions}/{child}")
        .get(inventory_children::get).delete(inventory_children::remove));
    // The parents of a managed object can be read but not changed (I-03, I-03b).
    paths.extend(parents());
    paths.push(at("/inventory/binaries").get(inventory_binaries::list).post(inventory_binaries::create));
    paths.push(at("/inventory/binaries/{id}").get(inventory_binaries::get).put(inventory_binaries::update)
        .delete(inventory_binaries::remove));

    paths.push(at("/identity/externalIds/{type}/{value}").get(identity::get).delete(identity::remove));
    paths.push(at("/identity/globalIds/{id}/externalIds").get(identity::list).post(identity::create));

    paths.push(at("/devicecontrol/newDeviceRequests").get(new_device_requests::list).post(new_device_requests::create));
    paths.push(at("/devicecontrol/newDeviceRequests/{id}").get(new_device_requests::get)
        .put(new_device_requests::update).delete(new_device_requests::remove));
    paths.push(at("/devicecontrol/deviceCredentials").post(device_credentials::create));
    paths.push(at("/devicecontrol/deviceCredentials/{id}").get(device_credentials::get));
    paths.push(at("/devicecontrol/bulkoperations").get(bulk_operations::list).post(bulk_operations::create));
    paths.push(at("/devicecontrol/bulkoperations/{id}").get(bulk_operations::get).put(bulk_operations::update)
        .delete(bulk_operations::remove));
    paths.push(at("/devicecontrol/bulkNewDeviceRequests").post(bulk_registration::create));

    paths.push(at("/audit/auditRecords").get(audit::list).post(audit::create).delete(audit::remove_many));
    paths.push(at("/audit/auditRecords/{id}").get(audit::get));

    paths.push(at("/cep/modules").get(modules::list).post(modules::create));
    paths.push(at("/cep/modules/{id}").get(modules::get).put(modules::update).delete(modules::remove));

    paths.push(at("/platform").get(entry::platform));
    paths.extend(entry::paths().map(|path| at(path).get(entry::get)));
    paths.extend(certificates::paths().chain(of_current_user()).chain(of_consumers()).chain(of_traces()));
    paths.push(at("/user/roles").get(roles::list));
    paths.push(at("/user/roles/{role}").get(roles::get));
    paths.push(at("/user/{tenant}/users").get(users::list).post(users::create));
    paths.push(at("/user/{tenant}/users/{user}").get(users::get).put(users::update).delete(users::remove));
    paths.push(at("/user/{tenant}/userByName/{user}").get(users::get));
    paths.push(at("/user/{tenant}/users/{user}/roles").get(roles::list_of_user).post(roles::assign_to_user));
    paths.push(at("/user/{tenant}/users/{user}/roles/{role}").get(roles::get_of_user)
        .delete(roles::withdraw_from_user));
    paths.push(at("/user/{tenant}/users/{user}/groups").get(groups::list_of_user));
    paths.push(at("/user/{tenant}/groups").get(groups::list).post(groups::create));
    paths.push(at("/user/{tenant}/groups/{group}").get(groups::get).put(groups::update).delete(groups::remove));
    paths.push(at("/user/{tenant}/groupByName/{name}").get(groups::get_by_name));
    paths.push(at("/user/{tenant}/groups/{group}/roles").get(roles::list_of_group).post(roles::assign_to_group));
    paths.push(at("/user/{tenant}/groups/{group}/roles/{role}").get(roles::get_of_group)
        .delete(roles::withdraw_from_group));
    paths.push(at("/user/{tenant}/groups/{group}/users").get(groups::list_users).post(groups::add_user));
    paths.push(at("/user/{tenant}/groups/{group}/users/{user}").get(groups::get_user).delete(groups::remove_user));
    paths.push(at("/application/applications").get(applications::list).post(applications::create));
    paths.push(at("/application/applications/{id}").get(applications::get).put(applications::update)
        .delete(applications::remove));
    paths.push(at("/application/applications/{id}/clone").post(applications::clone));
    paths.push(at("/application/applicationsByName/{name}").get(applications::list_by_name));
    paths.push(at("/application/applicationsByOwner/{tenant}").get(applications::list_by_owner));
    paths.push(at("/application/applicationsByTenant/{tenant}").get(applications::list_by_tenant));
    paths.push(at("/application/applications/{id}/bootstrapUser").get(current_application::get_bootstrap_user));
    paths.push(at("/application/currentApplication").get(current_application::get).put(current_application::update));
    for path in ["/application/currentApplication/subscriptions", "/application/currentApplication/subscription"] {
        paths.push(at(path).get(current_application::list_subscriptions));
    }
    paths.push(at("/application/currentApplication/settings").get(current_application::get_settings));
    paths.push(at("/tenant/tenants").get(tenants::list).post(tenants::create));
    paths.push(at("/tenant/tenants/{id}").get(tenants::get).put(tenants::update).delete(tenants::remove));
    paths.push(at("/tenant/tenants/{tenant}/applications").get(subscriptions::list).post(subscriptions::create));
    paths.push(at("/tenant/tenants/{tenant}/applications/{application}").get(subscriptions::get)
        .delete(subscriptions::remove));
    paths.push(at("/tenant/limits").get(tenant_limits::get_own));
    paths.push(at("/tenant/tenants/{id}/limits").get(tenant_limits::get).put(tenant_limits::update));
    paths.push(at("/tenant/currentTenant").get(tenants::get_current));
    paths.extend(of_login_options());
    paths.push(at("/tenant/options").get(options::list).post(options::create));
    paths.push(at("/tenant/options/{category}").get(options::get_category).put(options::update_category));
    paths.push(at("/tenant/options/{category}/{key}").get(options::get).put(options::update).delete(options::remove));
    paths.push(at("/tenant/options/{category}/{key}/editable").put(options::update_editable));
    paths.push(at("/tenant/system/options").get(options::list_system));
    paths.push(at("/tenant/system/options/{category}/{key}").get(options::get_system));

    paths.push(at("/tenant/sessions").get(sessions::list));
    paths.push(at("/tenant/sessions/{id}").get(sessions::get).delete(sessions::remove));
    paths.push(at("/tenant/statistics").get(statistics::days::list));
    paths.push(at("/tenant/statistics/summary").get(statistics::days::get_summary));
    paths.push(at("/tenant/statistics/allTenantsSummary").get(statistics::days::list_summaries));
    paths.push(at("/tenant/statistics/live").get(statistics::live::get));
    paths.push(at("/tenant/statistics/storage").get(statistics::storage::get));
    paths.push(at("/tenant/statistics/allTenantsStorage").get(statistics::storage::get_all));

    paths.push(at("/retention/retentions").get(retention::list).post(retention::create));
    paths.push(at("/retention/retentions/{id}").get(retention::get).put(retention::update).delete(retention::remove));
    paths.push(at("/retention/retentions/{id}/preview").get(retention::preview));
    paths.push(at("/retention/preview").without_room_too().post(retention::preview_of_body));
    paths.push(at("/retention/runs").get(retention::list_runs));
    paths.push(at("/application/tokenClients").get(token_clients::list).post(token_clients::create));
    paths.push(at("/application/tokenClients/{id}").get(token_clients::get).delete(token_clients::remove));

    // These paths are open to everyone, because the proof of identity is not in `Authorization` (C-03).
    paths.push(open("/v1/oauth/accesstokens", Shape::TokenRequest).without_room_too().post(access_tokens::create)
        .reserved());
    paths.push(open("/v2/{account}/limits", Shape::LimitsQuery).get(account_limits::get).reserved());

    // These requests are forwarded to microservices, which define their own rules for the paths below.
    for path in ["/service/{contextPath}", "/service/{contextPath}/{path:.*}"] {
        paths.push(at(path).forwarded_to_service().reserved());
    }
    paths.push(at("/application/applications/{id}/binaries").post(application_binaries::create).reserved());
    // Files of hosted applications are for browsers.
    paths.push(at("/apps/{contextPath}").get(hosted_applications::get_root).announcing_head().reserved());
    paths.push(at("/apps/{contextPath}/{path:.*}").get(hosted_applications::get).announcing_head().reserved());

    paths.extend(of_console());
    paths.extend(of_documentation());
    paths.extend(of_operators());
    paths
}

/// Returns the paths of the documentation, which is the same for everyone.
fn of_documentation() -> [Path; 7] {
    [
        at("/openapi.json").get(documentation::get_reference).announcing_head(),
        at("/asyncapi.json").get(documentation::get_streams).announcing_head(),
        at("/docs").get(documentation::get_index).announcing_head(),
        at("/docs/errors").get(error_page::get).announcing_head(),
        at("/docs/search").get(documentation::search).announcing_head(),
        at("/docs/{page}").get(documentation::get_page).announcing_head(),
        at("/docs/{folder}/{page}").get(documentation::get_page_of_folder).announcing_head(),
    ]
}

/// Returns the paths for operators' tools. Load balancers and uptime monitors send HEAD requests.
fn of_operators() -> [Path; 3] {
    [
        at("/health/live").get(health::live).announcing_head(),
        at("/health/ready").get(health::ready).announcing_head(),
        at(METRICS).get(health::metrics).announcing_head().reserved(),
    ]
}

/// Returns a 404 after authentication, so that a client without credentials does not learn which paths exist (E-04,
/// C-17).
async fn no_such_path(_: Caller, request: HttpRequest) -> Result<HttpResponse> {
    Err(ApiError::NoSuchPath(request.path().chars().take(200).collect()))
}
