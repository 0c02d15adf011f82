//! The floor for durable alarms: one INSERT, in a transaction of its own, for each request.
//!
//! The table has the shape and the indexes of the server's, the pool is deadpool-postgres and the statement is
//! prepared once per connection: what a straightforward actix-web program would do. No authentication, no
//! de-duplication, no notifications. The same `loadtest alarms` runs against it as against the server.

use std::time::Duration;

use actix_web::error::{ErrorInternalServerError, ErrorUnprocessableEntity};
use actix_web::{App, HttpResponse, HttpServer, web};
use clap::Parser;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use serde::Deserialize;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_postgres::NoTls;
use tokio_postgres::types::Json;

const TENANT: &str = "main";

const SCHEMA: &str = "
    DROP TABLE IF EXISTS floor_alarms, floor_objects;
    CREATE TABLE floor_objects (
        tenant text NOT NULL,
        id bigint NOT NULL,
        type text,
        name text,
        created_at timestamptz NOT NULL DEFAULT now(),
        fragments json NOT NULL,
        PRIMARY KEY (tenant, id));
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
    CREATE UNIQUE INDEX ON floor_alarms (tenant, source, type) WHERE status <> 'CLEARED';
    DROP SEQUENCE IF EXISTS floor_ids;
    CREATE SEQUENCE floor_ids CACHE 100;";

const INSERT_OBJECT: &str = "
    INSERT INTO floor_objects (tenant, id, type, name, fragments)
    VALUES ($1, nextval('floor_ids'), $2, $3, $4) RETURNING id";

const INSERT_ALARM: &str = "
    INSERT INTO floor_alarms (tenant, id, source, type, time, time_offset, text, status, severity, count,
        first_time, first_offset, created_at, fragments)
    VALUES ($1, nextval('floor_ids'), $2, $3, $4, $5, $6, 'ACTIVE', $7, 1, $4, $5, $8, $9) RETURNING id";

const DELETE_OBJECT: &str = "DELETE FROM floor_objects WHERE tenant = $1 AND id = $2";

/// Stores each alarm with one INSERT of its own.
#[derive(Debug, Parser)]
struct Settings {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:18081")]
    listen: String,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// PostgreSQL, as URL or key=value text; its tables floor_alarms and floor_objects are made anew
    #[arg(long, env = "FLOOR_DATABASE_URL", hide_env_values = true)]
    database_url: String,
    /// Connections to PostgreSQL
    #[arg(long, default_value_t = 16)]
    pool: usize,
}

#[derive(Debug, Deserialize)]
struct Alarm {
    r#type: String,
    time: String,
    text: String,
    severity: String,
    source: Source,
    #[serde(flatten)]
    fragments: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Source {
    id: String,
}

#[derive(Debug, Deserialize)]
struct Object {
    r#type: Option<String>,
    name: Option<String>,
    #[serde(flatten)]
    fragments: Map<String, Value>,
}

async fn post_alarm(
    pool: web::Data<Pool>,
    alarm: web::Json<Alarm>,
) -> Result<HttpResponse, actix_web::Error> {
    let time = OffsetDateTime::parse(&alarm.time, &Rfc3339).map_err(ErrorUnprocessableEntity)?;
    let offset = time.offset().whole_minutes();
    let source: i64 = alarm.source.id.parse().map_err(ErrorUnprocessableEntity)?;
    let (created_at, fragments) = (OffsetDateTime::now_utc(), Json(&alarm.fragments));
    let client = pool.get().await.map_err(ErrorInternalServerError)?;
    let insert = client.prepare_cached(INSERT_ALARM).await.map_err(ErrorInternalServerError)?;
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

async fn post_object(
    pool: web::Data<Pool>,
    object: web::Json<Object>,
) -> Result<HttpResponse, actix_web::Error> {
    let client = pool.get().await.map_err(ErrorInternalServerError)?;
    let insert = client.prepare_cached(INSERT_OBJECT).await.map_err(ErrorInternalServerError)?;
    let row = client
        .query_one(&insert, &[&TENANT, &object.r#type, &object.name, &Json(&object.fragments)])
        .await
        .map_err(ErrorInternalServerError)?;
    let id: i64 = row.get(0);
    Ok(HttpResponse::Created().json(serde_json::json!({"id": id.to_string()})))
}

async fn delete_object(pool: web::Data<Pool>, id: web::Path<i64>) -> Result<HttpResponse, actix_web::Error> {
    let client = pool.get().await.map_err(ErrorInternalServerError)?;
    client.execute(DELETE_OBJECT, &[&TENANT, &*id]).await.map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::NoContent().finish())
}

async fn open_pool(settings: &Settings) -> Result<Pool, Box<dyn std::error::Error>> {
    let database: tokio_postgres::Config = settings.database_url.parse()?;
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(database, NoTls, recycling);
    let pool = Pool::builder(manager)
        .max_size(settings.pool)
        .wait_timeout(Some(Duration::from_secs(10)))
        .create_timeout(Some(Duration::from_secs(5)))
        .runtime(Runtime::Tokio1)
        .build()?;
    pool.get().await?.batch_execute(SCHEMA).await?;
    Ok(pool)
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::parse();
    let pool = web::Data::new(open_pool(&settings).await?);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(pool.clone())
            .route("/alarm/alarms", web::post().to(post_alarm))
            .route("/inventory/managedObjects", web::post().to(post_object))
            .route("/inventory/managedObjects/{id}", web::delete().to(delete_object))
    });
    server
        .workers(settings.workers)
        .h1_allow_half_closed(false)
        .tcp_nodelay(true)
        .keep_alive(Duration::from_secs(75))
        .shutdown_timeout(1)
        .bind(&settings.listen)?
        .run()
        .await?;
    Ok(())
}
