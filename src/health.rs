//! Health and metrics endpoints for the operator's tools, open to everyone who can reach the port (C-03).

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::error::Error;
use serde_json::json;

use crate::http::error::Result;

/// Handles `GET` and `HEAD` of `/health/live`: 200 while the process serves requests.
pub async fn live() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "UP" }))
}

/// Handles `GET` and `HEAD` of `/health/ready`: 200 while requests can be processed. The body contains
/// `"writes":"REFUSED"` while the disk is full. The status remains 200 then, because a load balancer that stopped
/// sending requests would also prevent reads and deletions.
///
/// # Errors
/// 503 while PostgreSQL is unavailable, and while the server drains: its operator said so, or it stops.
pub async fn ready(platform: web::Data<Platform>) -> Result<HttpResponse> {
    let database = platform.database();
    if database.membership().is_draining() {
        return Err(Error::unavailable("the server is draining").into());
    }
    if !database.is_reachable() {
        return Err(Error::unavailable("the database is not reachable").into());
    }
    Ok(HttpResponse::Ok().json(if database.has_room() {
        json!({ "status": "UP" })
    } else {
        json!({ "status": "UP", "writes": "REFUSED", "reason": Error::DiskFull.to_string() })
    }))
}

/// Handles `GET` and `HEAD` of `/metrics`: all metrics in Prometheus' text format.
pub async fn metrics(platform: web::Data<Platform>) -> HttpResponse {
    let text = crate::telemetry::render(&platform);
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(text)
}
