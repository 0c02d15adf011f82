//! Health and metrics endpoints for the operator's tools, open to everyone who can reach the port (C-03).

mod tenants;

use actix_web::{HttpRequest, HttpResponse};
use platform_actors::Platform;
use platform_front::jobs::{JobState, JobStates};
use platform_front::telemetry;
use platform_model::error::Error;
use serde::Serialize;
use serde_json::json;

use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::head::Head;
use crate::http::query::Query;

/// Where the metrics are, and the details of health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metrics {
    /// At the address of the clients.
    Here,
    /// At an address of their own.
    Elsewhere,
}

/// The body of a server that is ready.
#[derive(Serialize)]
struct Readiness {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    writes: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<Vec<JobState>>,
}

/// Handles `GET` and `HEAD` of `/health/live`: 200 while the process serves requests.
pub async fn live() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "UP" }))
}

/// Handles `GET` and `HEAD` of `/health/ready`: 200 while requests can be processed. The body contains
/// `"writes":"REFUSED"` while the disk is full. The status remains 200 then, because a load balancer that stopped
/// sending requests would also prevent reads and deletions. With `withDetails=true` it contains the states of the
/// background jobs, at the address that has the metrics.
///
/// # Errors
/// 503 while PostgreSQL is unavailable, and while the server drains: its operator said so, or it stops.
pub async fn ready(request: HttpRequest) -> Result<HttpResponse> {
    let database = request.state::<Platform>().database();
    if database.membership().is_draining() {
        return Err(Error::unavailable("the server is draining").into());
    }
    if !database.is_reachable() {
        return Err(Error::unavailable("the database is not reachable").into());
    }
    let with_details = Query::parse(request.query_string()).flag("withDetails")? == Some(true);
    let shows_details = with_details && request.app_data() == Some(&Metrics::Here);
    let full = (!database.has_room()).then(|| Error::DiskFull.to_string());
    Ok(HttpResponse::Ok().json(Readiness {
        status: "UP",
        writes: full.is_some().then_some("REFUSED"),
        reason: full,
        jobs: shows_details.then(|| request.state::<JobStates>().all()),
    }))
}

/// Handles `GET` and `HEAD` of `/metrics`: all metrics in Prometheus' text format.
pub async fn metrics(platform: Component<Platform>) -> HttpResponse {
    platform_store::metrics::set_connections(platform.database());
    let mut text = telemetry::render();
    tenants::render(&platform, &mut text);
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(text)
}
