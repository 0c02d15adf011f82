//! What the operator's own tools ask; open to everyone who reaches the port (C-03).

use actix_web::{HttpResponse, web};
use platform_actors::Error;
use serde_json::json;

use crate::http::error::Result;
use crate::server::Edge;

/// `GET` and `HEAD` of `/health/live`: 200 while the process serves requests at all.
pub async fn live() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "UP" }))
}

/// `GET` and `HEAD` of `/health/ready`: 200 while requests can be carried out. With `"writes":"REFUSED"` while the disk is full:
/// whoever sent its requests elsewhere then could not read and delete any more (SE7).
///
/// # Errors
/// 503 while PostgreSQL is away.
pub async fn ready(edge: web::Data<Edge>) -> Result<HttpResponse> {
    let database = edge.platform.database();
    if !database.is_reachable() {
        return Err(Error::unavailable("the database is not reachable").into());
    }
    Ok(HttpResponse::Ok().json(match database.has_room() {
        true => json!({ "status": "UP" }),
        false => json!({ "status": "UP", "writes": "REFUSED", "reason": Error::DiskFull.to_string() }),
    }))
}

/// `GET` and `HEAD` of `/metrics`: everything measured, in Prometheus' text format.
pub async fn metrics() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(crate::telemetry::render())
}
