//! The floor for durable alarms and measurements: one INSERT, in a transaction of its own, for each request.
//!
//! The tables have the columns and the indexes one would give them, the pool is deadpool-postgres and the statements
//! are prepared once per connection: what a straightforward actix-web program would do. No authentication, no
//! de-duplication, no notifications. The same `loadtest measurements --kind alarm` and `loadtest measurements` run
//! against it as against the server.
//!
//! With `--bare` a measurement is parsed and nothing else: the floor for TRANSIENT. With `--unnest` nothing is served:
//! the same rows are inserted by `INSERT … SELECT FROM unnest` on one connection, the floor for collections.

mod alarms;
mod measurements;
mod unnest;

use std::time::Duration;

use actix_web::error::ErrorInternalServerError;
use actix_web::{App, HttpResponse, HttpServer, web};
use clap::Parser;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_postgres::NoTls;
use tokio_postgres::types::Json;

pub(crate) const TENANT: &str = "main";

const OBJECTS: &str = "
    DROP TABLE IF EXISTS floor_alarms, floor_measurements, floor_objects;
    CREATE TABLE floor_objects (
        tenant text NOT NULL,
        id bigint NOT NULL,
        type text,
        name text,
        created_at timestamptz NOT NULL DEFAULT now(),
        fragments json NOT NULL,
        PRIMARY KEY (tenant, id));
    DROP SEQUENCE IF EXISTS floor_ids;
    CREATE SEQUENCE floor_ids CACHE 100;";

const INSERT_OBJECT: &str = "
    INSERT INTO floor_objects (tenant, id, type, name, fragments)
    VALUES ($1, nextval('floor_ids'), $2, $3, $4) RETURNING id";

const DELETE_OBJECT: &str = "DELETE FROM floor_objects WHERE tenant = $1 AND id = $2";

/// Stores each alarm and each measurement with one INSERT of its own.
#[derive(Debug, Parser)]
struct Settings {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:18081")]
    listen: String,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// PostgreSQL, as URL or key=value text; its tables floor_… are dropped and created again
    #[arg(long, env = "FLOOR_DATABASE_URL", hide_env_values = true)]
    database_url: String,
    /// Connections to PostgreSQL
    #[arg(long, default_value_t = 16)]
    pool: usize,
    /// Respond to measurements without storing them
    #[arg(long)]
    bare: bool,
    /// Serve nothing; insert measurements for this many seconds, many per statement
    #[arg(long, value_name = "SECONDS")]
    unnest: Option<u64>,
    /// Measurements in each statement of --unnest
    #[arg(long, default_value_t = 100)]
    per_statement: usize,
}

/// The member `source` of a posted body.
#[derive(Debug, Deserialize)]
pub(crate) struct Source {
    pub(crate) id: String,
}

#[derive(Debug, Deserialize)]
struct Object {
    r#type: Option<String>,
    name: Option<String>,
    #[serde(flatten)]
    fragments: Map<String, Value>,
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
    let client = pool.get().await?;
    for schema in [OBJECTS, alarms::SCHEMA, measurements::SCHEMA] {
        client.batch_execute(schema).await?;
    }
    drop(client);
    Ok(pool)
}

#[actix::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::parse();
    let pool = web::Data::new(open_pool(&settings).await?);
    if let Some(seconds) = settings.unnest {
        return unnest::run(&pool, Duration::from_secs(seconds), settings.per_statement).await;
    }
    let bare = settings.bare;
    let server = HttpServer::new(move || {
        let measurement =
            if bare { web::post().to(measurements::parse) } else { web::post().to(measurements::post) };
        App::new()
            .app_data(pool.clone())
            .route("/alarm/alarms", web::post().to(alarms::post))
            .route("/measurement/measurements", measurement)
            .route("/transient", web::post().to(measurements::parse))
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
