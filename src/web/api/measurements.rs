//! `/measurement/measurements` (docs/rules.md#measurements; G-01 to G-11).

use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_actors::writes::{NewMeasurements, PublicationTurn};
use platform_front::csv_table;
use platform_model::access::Api;
use platform_model::body::Body;
use platform_model::data::measurement::{Measurement, MeasurementFilter, NewMeasurement};
use platform_model::id::{ManagedObjectId, MeasurementId};
use platform_model::origin::Origin;
use platform_model::page::TimeOrder;
use platform_model::role;
use platform_model::units::SystemOfUnits;
use platform_store::data::measurements::collection::list_measurements;
use platform_store::data::measurements::rows::get_measurement;

use crate::auth::Caller;
use crate::http::body::{JsonBody, UnreadBody};
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::head::Head;
use crate::http::idempotency::once;
use crate::http::negotiation::{accepted, check_content_type};
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// The columns of the CSV table, which has a line for each reading (G-09).
const CSV_COLUMNS: [&str; 6] = ["time", "source", "device_name", "fragment.series", "value", "unit"];

/// The media types of one measurement and of several.
const NAMES: [&str; 2] = ["measurement", "measurementCollection"];
/// The member of a body with several measurements.
const TOGETHER: &str = "measurements";

/// `POST /measurement/measurements`: creates one measurement, or a collection, which is stored completely or
/// not at all (G-02). A body with the member `measurements` is a collection (C-08).
///
/// # Errors
/// 403 without the role or ownership, 422 for an invalid body or an unknown source, 503 when it cannot be
/// stored now.
pub async fn create(caller: Caller, head: RequestHead, body: UnreadBody) -> Result<HttpResponse> {
    create_of(&caller, &head, body, head.take_turn()).await
}

/// Creates measurements as [`create`] does, for both HTTP servers.
///
/// # Errors
/// The errors of [`create`].
pub(crate) async fn create_of(
    caller: &Caller,
    head: &impl Head,
    body: impl JsonBody,
    turn: Option<PublicationTurn>,
) -> Result<HttpResponse> {
    let platform = head.state::<Platform>();
    let origin = caller.origin_of_data(head, role::MEASUREMENT_ADMIN, Api::Measurement)?;
    check_content_type(head, &NAMES)?;
    let links = origin.links.clone();
    let body = body.json(platform.limits().body_bytes).await?;
    let names = if body.contains(TOGETHER) { ["measurementCollection", "measurement"] } else { NAMES };
    let media_type = accepted(head, names[0]).or_else(|_| accepted(head, names[1]))?;
    once(head, &caller.tenant, media_type, (origin, body), async |origin, mut body, media_type| {
        let Some(collection) = body.take(TOGETHER) else {
            let new = NewMeasurements { measurements: vec![NewMeasurement::parse(body)?], origin };
            let stored = store(caller, platform, new, turn).await?;
            let measurement = stored.first().expect("as many are stored as are given");
            let location = links.measurement(measurement.id);
            return Ok(reply::created(head, media_type, location, measurement, &links));
        };
        let key = origin.key.map(|key| Arc::new(key.of_collection(TOGETHER)));
        let origin = Origin { key, ..origin };
        let new = NewMeasurements { measurements: NewMeasurement::parse_collection(&collection)?, origin };
        let stored = store(caller, platform, new, turn).await?;
        Ok(reply::created_together(head, media_type, TOGETHER, &stored, &links))
    })
    .await
}

/// Stores measurements as [`create`] does, for a caller that needs no response: a row of the CSV protocol, which skips
/// routing (S-05). A row that overlaps others passes its turn.
///
/// # Errors
/// The errors of [`create`].
pub(crate) async fn create_without_response(
    caller: &Caller,
    head: &RequestHead,
    body: &[u8],
    turn: Option<PublicationTurn>,
    platform: &Platform,
) -> Result<()> {
    let origin = caller.origin_of_data(head, role::MEASUREMENT_ADMIN, Api::Measurement)?;
    let mut body = Body::parse(body)?;
    let measurements = match body.take(TOGETHER) {
        Some(collection) => NewMeasurement::parse_collection(&collection)?,
        None => vec![NewMeasurement::parse(body)?],
    };
    store(caller, platform, NewMeasurements { measurements, origin }, turn).await?;
    Ok(())
}

async fn store(
    caller: &Caller,
    platform: &Platform,
    new: NewMeasurements,
    turn: Option<PublicationTurn>,
) -> Result<Vec<Arc<Measurement>>> {
    if new.measurements.is_empty() {
        return Ok(Vec::new());
    }
    Ok(platform.tenant(&caller.tenant).create_measurements(new, turn).await?)
}

/// `GET /measurement/measurements`: returns a page of measurements, oldest first (G-05), or a table when the
/// client prefers `text/csv` (G-09). A caller without ROLE_MEASUREMENT_READ gets those of a `source` it owns
/// (U-10a), or those its device permissions cover (P-07).
///
/// # Errors
/// 403 without any of these, 422 for an invalid parameter, 413 when the query takes too long.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let query = Query::parse(head.query_string());
    let authority = caller
        .reads_collection(&platform, role::MEASUREMENT_READ, Api::Measurement, &query, &["source"])
        .await?;
    let as_csv = head.prefers("text/csv", "measurementCollection");
    let media_type =
        if as_csv { csv_table::MEDIA_TYPE.into() } else { head.accepted("measurementCollection")? };
    let units = head.system_of_units()?;
    let listing = Listing::new(&head, media_type, query)?;
    let page = match filter(&listing.query)? {
        Some(filter) => {
            let database = platform.database();
            list_measurements(database, &caller.tenant, &filter, &authority, &listing.request).await?
        }
        None => listing.request.empty(),
    };
    let page = page.map(|measurement| shown(measurement, units));
    if as_csv {
        let table = table(&caller, &platform, &page.members).await?;
        return Ok(HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, csv_table::MEDIA_TYPE))
            .body(table));
    }
    listing.respond("measurements", &page)
}

/// `GET /measurement/measurements/<id>`: returns a measurement (G-01).
///
/// # Errors
/// 403 without ROLE_MEASUREMENT_READ, ownership of the source (U-10a) or a device permission, 404 for an
/// unknown id.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let authority = caller.reads(role::MEASUREMENT_READ, Api::Measurement);
    let media_type = head.accepted("measurement")?;
    let units = head.system_of_units()?;
    let (database, id) = (platform.database(), MeasurementId::parse(&path)?);
    let measurement = get_measurement(database, &caller.tenant, id).await?;
    caller
        .reaches_data_of(&platform, measurement.source, &authority, |name| measurement.has_fragment(name))
        .await?;
    Ok(reply::found(media_type, &shown(measurement, units), &head.links()))
}

/// `DELETE /measurement/measurements/<id>`: deletes a measurement (G-01).
///
/// # Errors
/// 403 without the role or ownership of the source, 404 for an unknown id.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin = caller.origin_of_data(&head, role::MEASUREMENT_ADMIN, Api::Measurement)?;
    let id = MeasurementId::parse(&path)?;
    platform.tenant(&caller.tenant).delete_measurement(id, &origin).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /measurement/measurements`: deletes everything that matches the filters of GET, or all when there
/// are none (G-01). Returns 204 when all are deleted. If the client disconnects earlier, the rest stays.
///
/// # Errors
/// 403 without ROLE_MEASUREMENT_ADMIN, 422 for an invalid or unknown parameter (C-19).
pub async fn remove_many(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::MEASUREMENT_ADMIN)?;
    let origin = caller.origin_of_data(&head, role::MEASUREMENT_ADMIN, Api::Measurement)?;
    let query = Query::parse(head.query_string());
    query.only_filters(&FILTERS)?;
    if let Some(filter) = filter(&query)? {
        platform.tenant(&caller.tenant).delete_measurements(filter, &origin).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}

fn shown(measurement: Measurement, units: Option<SystemOfUnits>) -> Measurement {
    match units {
        Some(system) => measurement.in_units(system),
        None => measurement,
    }
}

/// The filters of G-04.
const FILTERS: [&str; 7] =
    ["source", "type", "fragmentType", "valueFragmentType", "valueFragmentSeries", "dateFrom", "dateTo"];

/// Parses the filters of G-04. Returns `None` when no measurement can match them.
fn filter(query: &Query) -> Result<Option<MeasurementFilter>> {
    let text = |name: &str| query.get(name).map(ToOwned::to_owned);
    let order = query.time_order(TimeOrder::OldestFirst)?;
    let (date_from, date_to) = (query.time("dateFrom")?, query.time("dateTo")?);
    let fragment_type = query.fragment("fragmentType")?;
    let value_fragment_type = query.fragment("valueFragmentType")?;
    // A source that is not an id is not an error: it has no measurements.
    let Ok(source) = query.get("source").map(ManagedObjectId::parse).transpose() else { return Ok(None) };
    Ok(Some(MeasurementFilter {
        source,
        date_from,
        date_to,
        type_: text("type"),
        fragment_type,
        value_fragment_type,
        value_fragment_series: text("valueFragmentSeries"),
        order,
    }))
}

/// Writes the table, with one line for each reading (G-09).
async fn table(caller: &Caller, platform: &Platform, measurements: &[Measurement]) -> Result<Vec<u8>> {
    let sources: Vec<ManagedObjectId> = measurements.iter().map(|measurement| measurement.source).collect();
    let database = platform.database();
    let names =
        platform_store::devices::inventory::managed_objects::list_names(database, &caller.tenant, &sources)
            .await?;
    let mut table = csv_table::Table::new(&CSV_COLUMNS);
    for measurement in measurements {
        let (time, source) = (measurement.time.to_string(), measurement.source.to_string());
        let name = names.get(&measurement.source).map_or("", |name| name);
        for ((fragment, series), reading) in measurement.shape.series().zip(measurement.exact_readings()) {
            let unit = series.unit.as_deref().unwrap_or_default();
            let series = format!("{fragment}.{}", series.name);
            let value = serde_json::to_string(&reading).expect("a number can be written");
            table.line([
                csv_table::Cell::Own(&time),
                csv_table::Cell::Own(&source),
                csv_table::Cell::Foreign(name),
                csv_table::Cell::Foreign(&series),
                csv_table::Cell::Own(&value),
                csv_table::Cell::Foreign(unit),
            ]);
        }
    }
    Ok(table.finish())
}
