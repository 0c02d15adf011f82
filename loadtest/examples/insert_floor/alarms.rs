//! One INSERT for each alarm, into a table with the columns and the indexes of the server's.

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
    CREATE TABLE floor_alarms (
        tenant text NOT NULL,
        id bigint NOT NULL,
        source bigint NOT NULL,
        type text NOT NULL,
        time timestamptz NOT NULL,
        time_offset smallint NOT NULL,
        text text NOT NULL,
        status text NOT NULL,
        severity text NOT NULL,
        count bigint NOT NULL,
        first_time timestamptz NOT NULL,
        first_offset smallint NOT NULL,
        created_at timestamptz NOT NULL,
        fragments json NOT NULL,
        PRIMARY KEY (tenant, id),
        FOREIGN KEY (tenant, source) REFERENCES floor_objects (tenant, id) ON DELETE CASCADE);
    CREATE INDEX ON floor_alarms (tenant, time DESC, id DESC);
    CREATE INDEX ON floor_alarms (tenant, source, time DESC, id DESC);
    CREATE UNIQUE INDEX ON floor_alarms (tenant, source, type) WHERE status <> 'CLEARED';";

const INSERT: &str = "
    INSERT INTO floor_alarms (tenant, id, source, type, time, time_offset, text, status, severity, count,
        first_time, first_offset, created_at, fragments)
    VALUES ($1, nextval('floor_ids'), $2, $3, $4, $5, $6, 'ACTIVE', $7, 1, $4, $5, $8, $9) RETURNING id";

/// The posted body.
#[derive(Debug, Deserialize)]
pub(crate) struct Alarm {
    r#type: String,
    time: String,
    text: String,
    severity: String,
    source: Source,
    #[serde(flatten)]
    fragments: Map<String, Value>,
}

/// Handles `POST /alarm/alarms`.
pub(crate) async fn post(
    pool: web::Data<Pool>,
    alarm: web::Json<Alarm>,
) -> Result<HttpResponse, actix_web::Error> {
    let time = OffsetDateTime::parse(&alarm.time, &Rfc3339).map_err(ErrorUnprocessableEntity)?;
    let offset = time.offset().whole_minutes();
    let source: i64 = alarm.source.id.parse().map_err(ErrorUnprocessableEntity)?;
    let (created_at, fragments) = (OffsetDateTime::now_utc(), Json(&alarm.fragments));
    let client = pool.get().await.map_err(ErrorInternalServerError)?;
    let insert = client.prepare_cached(INSERT).await.map_err(ErrorInternalServerError)?;
    let row = client
        .query_one(
            &insert,
            &[
                &TENANT,
                &source,
                &alarm.r#type,
                &time,
                &offset,
                &alarm.text,
                &alarm.severity,
                &created_at,
                &fragments,
            ],
        )
        .await
        .map_err(ErrorUnprocessableEntity)?;
    let id: i64 = row.get(0);
    let stored = serde_json::json!({
        "id": id.to_string(),
        "type": alarm.r#type,
        "time": alarm.time,
        "text": alarm.text,
        "status": "ACTIVE",
        "severity": alarm.severity,
        "count": 1,
        "source": {"id": alarm.source.id},
    });
    Ok(HttpResponse::Created().json(stored))
}
