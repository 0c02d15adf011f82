//! One INSERT for each measurement, or none at all.

use actix_web::error::{ErrorInternalServerError, ErrorUnprocessableEntity};
use actix_web::{HttpResponse, web};
use deadpool_postgres::Pool;
use serde::Deserialize;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_postgres::types::Json;

use crate::{Source, TENANT};

/// Creates the table, and drops an earlier one.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE floor_measurements (
        tenant text NOT NULL,
        id bigint NOT NULL,
        source bigint NOT NULL,
        type text NOT NULL,
        time timestamptz NOT NULL,
        time_offset smallint NOT NULL,
        created_at timestamptz NOT NULL,
        fragments json NOT NULL,
        PRIMARY KEY (tenant, id),
        FOREIGN KEY (tenant, source) REFERENCES floor_objects (tenant, id) ON DELETE CASCADE);
    CREATE INDEX ON floor_measurements (tenant, time, id);
    CREATE INDEX ON floor_measurements (tenant, source, time, id);";

const INSERT: &str = "
    INSERT INTO floor_measurements (tenant, id, source, type, time, time_offset, created_at, fragments)
    VALUES ($1, nextval('floor_ids'), $2, $3, $4, $5, $6, $7)";

/// The posted body.
#[derive(Debug, Deserialize)]
pub(crate) struct Measurement {
    r#type: String,
    time: String,
    source: Source,
    #[serde(flatten)]
    fragments: Map<String, Value>,
}

/// Handles `POST /measurement/measurements`: responds 201 when the row is committed.
pub(crate) async fn post(
    pool: web::Data<Pool>,
    measurement: web::Json<Measurement>,
) -> Result<HttpResponse, actix_web::Error> {
    let time = OffsetDateTime::parse(&measurement.time, &Rfc3339).map_err(ErrorUnprocessableEntity)?;
    let offset = time.offset().whole_minutes();
    let source: i64 = measurement.source.id.parse().map_err(ErrorUnprocessableEntity)?;
    let (created_at, fragments) = (OffsetDateTime::now_utc(), Json(&measurement.fragments));
    let client = pool.get().await.map_err(ErrorInternalServerError)?;
    let insert = client.prepare_cached(INSERT).await.map_err(ErrorInternalServerError)?;
    client
        .execute(&insert, &[&TENANT, &source, &measurement.r#type, &time, &offset, &created_at, &fragments])
        .await
        .map_err(ErrorUnprocessableEntity)?;
    Ok(HttpResponse::Created().finish())
}

/// Handles the same request without a database: it only parses the JSON.
pub(crate) async fn parse(body: web::Json<Value>) -> HttpResponse {
    if body.is_object() {
        HttpResponse::Created().finish()
    } else {
        HttpResponse::UnprocessableEntity().finish()
    }
}
