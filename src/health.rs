//! What the operator's own tools ask; open to everyone who reaches the port (C-03).

use actix_web::{HttpResponse, web};

use crate::http::error::Result;
use crate::server::Edge;

/// `GET` and `HEAD` of `/health/live`: 200 while the process serves requests at all.
pub async fn live() -> HttpResponse {
    HttpResponse::Ok().json(serde_json::json!({ "status": "UP" }))
}

/// `GET` and `HEAD` of `/health/ready`: 200 while requests can be carried out.
///
/// # Errors
/// 503 while PostgreSQL is away.
pub async fn ready(edge: web::Data<Edge>) -> Result<HttpResponse> {
    match edge.platform.database().is_reachable() {
        true => Ok(HttpResponse::Ok().json(serde_json::json!({ "status": "UP" }))),
        false => Err(platform_actors::Error::unavailable("the database is not reachable").into()),
    }
}

/// `GET` and `HEAD` of `/metrics`: everything measured, in Prometheus' text format.
pub async fn metrics() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(crate::telemetry::render())
}
