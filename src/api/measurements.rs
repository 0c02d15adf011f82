//! `/measurement/measurements` (document 2, Measurements; rulings G-01 to G-11).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::device::NewMeasurements;
use platform_actors::model::access::Api;
use platform_actors::model::measurement::{Measurement, NewMeasurement};
use platform_actors::model::origin::Origin;
use platform_actors::model::role;

use crate::auth::Caller;
use crate::http::body::Unread;
use crate::http::error::Result;
use crate::http::{Wire, reply};
use crate::server::Edge;

/// `POST /measurement/measurements`: one measurement, or a collection, which is stored whole or not at all (G-02). Which of
/// both it is, the member `measurements` tells (C-08).
///
/// # Errors
/// 403 without role or ownership, 422 for a wrong body or an unknown source, 503 when it cannot be stored now.
pub async fn create(caller: Caller, wire: Wire, body: Unread, edge: web::Data<Edge>) -> Result<HttpResponse> {
    let origin = caller.origin_of_data(&wire, role::MEASUREMENT_ADMIN, Api::Measurement)?;
    wire.check_content_type(&["measurement", "measurementCollection"])?;
    let links = origin.links.clone();
    let mut body = body.json(edge.limits().body_bytes).await?;
    let Some(collection) = body.take("measurements") else {
        let media_type = wire.accepted("measurement").or_else(|_| wire.accepted("measurementCollection"))?;
        let stored = store(&caller, &edge, vec![NewMeasurement::parse(body)?], origin).await?;
        let measurement = stored.first().expect("as many are stored as are given");
        return Ok(reply::created(&wire, media_type, links.measurement(measurement.id), measurement, &links));
    };
    let media_type = wire.accepted("measurementCollection").or_else(|_| wire.accepted("measurement"))?;
    let stored = store(&caller, &edge, NewMeasurement::parse_collection(&collection)?, origin).await?;
    Ok(reply::created_together(&wire, media_type, "measurements", &stored, &links))
}

async fn store(
    caller: &Caller,
    edge: &Edge,
    measurements: Vec<NewMeasurement>,
    origin: Origin,
) -> Result<Vec<Arc<Measurement>>> {
    if measurements.is_empty() {
        return Ok(Vec::new());
    }
    let new = NewMeasurements { measurements, origin };
    Ok(edge.platform.tenant(&caller.tenant).create_measurements(new).await?)
}
