//! `/measurement/measurements/series` (docs/rules.md#measurements; G-06 to G-08, G-10).

use actix_web::HttpResponse;
use actix_web::http::header;
use platform_actors::Platform;
use platform_model::access::Api;
use platform_model::body::missing;
use platform_model::data::measurement::{Aggregation, SeriesFilter, SeriesName, SeriesValues};
use platform_model::id::ManagedObjectId;
use platform_model::page::TimeOrder;
use platform_model::role;
use platform_store::data::measurements::series::get_series;

use crate::auth::Caller;
use crate::http::RequestHead;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::query::Query;

/// `GET /measurement/measurements/series`: returns the values that a source measured, with a column for each
/// series.
///
/// # Errors
/// 403 without ROLE_MEASUREMENT_READ, ownership of the source (U-10a) or a device permission for it, 422 for
/// missing or invalid parameters, 413 when the query takes too long.
pub async fn get(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let query = Query::parse(head.query_string());
    let authority = caller
        .reads_collection(&platform, role::MEASUREMENT_READ, Api::Measurement, &query, &["source"])
        .await?;
    let media_type = head.accepted_json()?;
    let values = match filter(&head, &query)? {
        Some(filter) => {
            get_series(platform.database(), &caller.tenant, &filter, &authority, &caller.user).await?
        }
        None => SeriesValues::default(),
    };
    let json = serde_json::to_vec(&values).expect("writing to memory does not fail and all keys are strings");
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, media_type)).body(json))
}

/// Parses the parameters. Returns `None` when the source is not an id and so has no measurements.
fn filter(head: &RequestHead, query: &Query) -> Result<Option<SeriesFilter>> {
    let units = head.system_of_units()?;
    let (date_from, date_to) = (query.time("dateFrom")?, query.time("dateTo")?);
    let (Some(source), Some(date_from), Some(date_to)) = (query.get("source"), date_from, date_to) else {
        let absent = |name| query.get(name).is_none();
        return Err(missing(&["source", "dateFrom", "dateTo"].map(|name| (name, absent(name)))).into());
    };
    let named = query.pairs().filter(|(name, _)| *name == "series");
    let series = named.map(|(_, value)| SeriesName::parse(value)).collect::<Result<_, _>>()?;
    let aggregation = query.get("aggregationType").map(Aggregation::parse).transpose()?;
    let order = query.time_order(TimeOrder::OldestFirst)?;
    let Ok(source) = ManagedObjectId::parse(source) else { return Ok(None) };
    Ok(Some(SeriesFilter { source, date_from, date_to, series, aggregation, order, units }))
}
