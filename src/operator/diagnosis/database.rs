//! The findings about PostgreSQL: whether it can be reached, keeps acknowledged writes, and has the schema of this
//! program.

use std::time::SystemTime;

use bytesize::ByteSize;
use platform_front::config::Settings;
use platform_front::secrets::secret_key;
use platform_model::error::Result;
use platform_store::realtime::servers::{Server, list_servers};
use platform_store::schema::description::Postgres;
use platform_store::schema::restoration::newest_schema;
use platform_store::tenancy::transfer;
use platform_store::{Connections, Database, libpq_environment};

use super::machine::{OLDEST_POSTGRES, seconds_ahead};
use super::{Finding, bus};
use crate::embedded_postgres::{client_program, holds_database, running_database_url};

const DATABASE: &str = "database";
const SCHEMA: &str = "schema";
const SERVERS: &str = "servers";
/// The difference of the two clocks, in seconds, above which people notice wrong times in notifications and tokens.
const CLOCKS: f64 = 2.0;

/// The reason why the database cannot be queried.
enum Absent {
    /// No server has ever run here, or the private PostgreSQL is stopped.
    Idle(String),
    /// The connection string is invalid.
    Unreachable(String),
}

/// Returns the facts that `platform status` shows: version and size of the database, the schema, the servers.
pub(super) async fn facts(settings: &Settings) -> Vec<Finding> {
    let database = match database_of(settings) {
        Ok(database) => database,
        Err(Absent::Idle(told) | Absent::Unreachable(told)) => return vec![Finding::unknown(DATABASE, told)],
    };
    let mut findings = vec![match database.describe_postgres().await {
        Ok(postgres) => Finding::good(DATABASE, told_of(&postgres, settings)),
        Err(error) => return vec![Finding::unknown(DATABASE, error.to_string())],
    }];
    if let Ok(Some(version)) = database.schema_version().await {
        findings.push(Finding::good(SCHEMA, format!("V{version}")));
    }
    let servers = list_servers(&database).await.unwrap_or_default();
    findings.extend(servers.iter().map(|server| {
        let Server { name, version, address, state, slot, .. } = server;
        Finding::good(
            SERVERS,
            format!("{name} ({slot}) {} {address}, version {version}", state.to_lowercase()),
        )
    }));
    findings
}

/// Returns the checks that `platform doctor` makes of the database.
pub(super) async fn check(settings: &Settings) -> Vec<Finding> {
    let (database, postgres) = match described(settings).await {
        Ok(found) => found,
        Err(finding) => return [finding].into_iter().chain(backups(settings, OLDEST_POSTGRES)).collect(),
    };
    let mut findings = vec![version(&postgres, settings), durability(&postgres), clock(&postgres)];
    findings.extend(encryption(&postgres, &mode_of(settings)));
    findings.extend(backups(settings, postgres.major.try_into().unwrap_or(OLDEST_POSTGRES)));
    findings.extend(bus::check(&database, &postgres).await);
    let servers = list_servers(&database).await.unwrap_or_default();
    findings.push(connections(&postgres, &servers));
    let version = database.schema_version().await;
    if let Ok(Some(_)) = version {
        findings.extend(same_key(settings, &database).await);
    }
    if database.restore_was_interrupted().await.unwrap_or_default() {
        findings.push(Finding::fault(
            SCHEMA,
            "a restore was interrupted, and the server does not start",
            "`platform restore FILE --replace` repeats it, `platform restore --undo` brings the previous content back",
        ));
    }
    findings.push(schema(version));
    findings.extend(gone(&servers));
    findings.extend(interrupted_moves(&database).await);
    findings
}

/// Returns the database with its description, or why it has none.
async fn described(settings: &Settings) -> std::result::Result<(Database, Postgres), Finding> {
    let database = database_of(settings).map_err(|absent| match absent {
        Absent::Idle(told) => Finding::unknown(DATABASE, told),
        Absent::Unreachable(told) => {
            Finding::fault(DATABASE, told, "correct --database-url, or start PostgreSQL")
        }
    })?;
    let postgres = database.describe_postgres().await.map_err(|error| {
        let remedy = "start PostgreSQL, and see that --database-url names it and its user may log in";
        Finding::fault(DATABASE, error.to_string(), remedy)
    })?;
    Ok((database, postgres))
}

fn database_of(settings: &Settings) -> std::result::Result<Database, Absent> {
    let store = &settings.store;
    let url = match &store.database_url {
        Some(url) => url.as_str().to_owned(),
        None => running_database_url(&store.data_dir).ok_or_else(|| {
            Absent::Idle(match holds_database(&store.data_dir) {
                Ok(true) => format!("the private PostgreSQL in {} does not run", store.data_dir.display()),
                Ok(false) => format!("none yet in {}; the first start creates it", store.data_dir.display()),
                Err(error) => error.to_string(),
            })
        })?,
    };
    let few = Connections { reads: 1, devices: 1 };
    Database::new(&url, few, &settings.limits()).map_err(|error| Absent::Unreachable(error.to_string()))
}

fn told_of(postgres: &Postgres, settings: &Settings) -> String {
    let whose = if settings.store.database_url.is_some() { "PostgreSQL" } else { "private PostgreSQL" };
    format!("{whose} {}, {}", postgres.version, ByteSize(postgres.bytes.try_into().unwrap_or_default()))
}

fn version(postgres: &Postgres, settings: &Settings) -> Finding {
    let told = told_of(postgres, settings);
    if postgres.is_standby {
        let remedy = "name the primary, or both with target_session_attrs=read-write in --database-url";
        return Finding::fault(DATABASE, format!("{told}: a standby, which accepts no writes"), remedy);
    }
    if u32::try_from(postgres.major).is_ok_and(|major| major < OLDEST_POSTGRES) {
        let remedy = format!("upgrade PostgreSQL to {OLDEST_POSTGRES} or newer");
        return Finding::fault(DATABASE, told, remedy);
    }
    Finding::good(DATABASE, told)
}

/// Checks that there is a `pg_dump` for `platform backup`, of this version of PostgreSQL or newer.
pub(super) fn backups(settings: &Settings, version: u32) -> Option<Finding> {
    let found = client_program("pg_dump", settings.store.postgres_bin_dir.as_deref(), version);
    let error = found.err()?;
    Some(Finding::warning("backup", error.to_string(), "install the client programs of PostgreSQL"))
}

fn durability(postgres: &Postgres) -> Finding {
    const SUBJECT: &str = "durability";
    let off: Vec<_> = [
        (!postgres.fsync).then_some("fsync"),
        (!postgres.full_page_writes).then_some("full_page_writes"),
        (postgres.synchronous_commit == "off").then_some("synchronous_commit"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if off.is_empty() {
        let told =
            format!("acknowledged writes are on disk (synchronous_commit {})", postgres.synchronous_commit);
        return Finding::good(SUBJECT, told);
    }
    let remedy: Vec<_> = off.iter().map(|setting| format!("ALTER SYSTEM SET {setting} = on;")).collect();
    let told = format!("{} is off: a crash loses acknowledged writes", off.join(", "));
    Finding::fault(SUBJECT, told, format!("{} SELECT pg_reload_conf();", remedy.join(" ")))
}

/// Finds the tenants whose writes are rejected because the command that moved them was killed.
async fn interrupted_moves(database: &Database) -> Option<Finding> {
    let tenants = transfer::list_interrupted(database).await.unwrap_or_default();
    let told = format!("writes are rejected, because moves were interrupted: {}", tenants.join(", "));
    let remedy = "run platform admin tenant move again, or with --undo";
    (!tenants.is_empty()).then(|| Finding::warning("tenants", told, remedy))
}

/// Returns the `sslmode` of the connection string, or an empty text if it has none.
fn mode_of(settings: &Settings) -> String {
    let url = settings.store.database_url.as_ref().map(|url| libpq_environment(url.as_str()));
    let variables = url.and_then(Result::ok).unwrap_or_default();
    let mode = variables.into_iter().find(|(name, _)| *name == "PGSSLMODE");
    mode.map(|(_, mode)| mode.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Checks that a connection to PostgreSQL on another machine is encrypted, and that its certificate is verified.
pub(super) fn encryption(postgres: &Postgres, mode: &str) -> Option<Finding> {
    const SUBJECT: &str = "encryption";
    let remedy = "sslmode=verify-full and sslrootcert=FILE in --database-url";
    if !postgres.over_network {
        return None;
    }
    Some(match (postgres.encrypted, mode.starts_with("verify-")) {
        (true, true) => Finding::good(SUBJECT, format!("the connection to PostgreSQL is encrypted ({mode})")),
        (true, false) => Finding::warning(
            SUBJECT,
            format!(
                "PostgreSQL's certificate is not checked (sslmode {mode}): anybody on the network path can \
                 impersonate it"
            ),
            remedy,
        ),
        (false, _) => Finding::warning(
            SUBJECT,
            "the connection to PostgreSQL is not encrypted: passwords and data can be read on the network path",
            remedy,
        ),
    })
}

fn clock(postgres: &Postgres) -> Finding {
    const SUBJECT: &str = "clock";
    let ahead = seconds_ahead(postgres.now.into(), SystemTime::now());
    let told = format!("PostgreSQL's differs by {:.1} s", ahead.abs());
    match ahead.abs() < CLOCKS {
        true => Finding::good(SUBJECT, told),
        false => Finding::warning(
            SUBJECT,
            told,
            "let NTP set the clocks of both machines: `timedatectl set-ntp true`",
        ),
    }
}

/// Checks that PostgreSQL accepts enough connections for all running servers, or for one server if none runs.
fn connections(postgres: &Postgres, servers: &[Server]) -> Finding {
    const SUBJECT: &str = "connections";
    let needed: i64 = servers
        .iter()
        .filter(|server| server.state != "GONE")
        .map(|server| i64::from(server.connections))
        .sum();
    let (most, open) = (i64::from(postgres.max_connections), postgres.connections);
    let told = format!("{open} of {most} are open; the servers open at most {needed}");
    if needed > most {
        let remedy =
            format!("ALTER SYSTEM SET max_connections = {}; and restart PostgreSQL", (needed + 20).max(100));
        return Finding::warning(SUBJECT, told, remedy);
    }
    Finding::good(SUBJECT, told)
}

fn schema(version: Result<Option<i64>>) -> Finding {
    let newest = newest_schema();
    match version {
        Ok(Some(version)) if version == newest => Finding::good(SCHEMA, format!("V{version}")),
        Ok(Some(version)) if version < newest => Finding::good(
            SCHEMA,
            format!("V{version}; the next start of this program upgrades it to V{newest}"),
        ),
        Ok(Some(version)) => {
            let told = format!("V{version} is newer than this program, which knows V{newest}");
            Finding::warning(SCHEMA, told, "run the newer program")
        }
        Ok(None) => Finding::good(SCHEMA, "none yet; the first start creates it"),
        Err(error) => Finding::fault(SCHEMA, error.to_string(), "the user needs rights on the database"),
    }
}

/// Checks that the secret key is the one with which the database was initialized.
async fn same_key(settings: &Settings, database: &Database) -> Option<Finding> {
    let error = secret_key::existing(&settings.store, database).await.err()?;
    Some(Finding::fault("secret key", error.to_string(), "put the file of the last backup back"))
}

fn gone(servers: &[Server]) -> Option<Finding> {
    let is_back = |gone: &Server| {
        let is_same = |other: &Server| other.name == gone.name && other.address == gone.address;
        servers.iter().any(|other| other.state != "GONE" && is_same(other))
    };
    // The next server that starts takes the slot of one that is back already.
    let gone: Vec<_> = servers.iter().filter(|server| server.state == "GONE" && !is_back(server)).collect();
    let [names, commands] = [
        |server: &&Server| server.name.clone(),
        |server: &&Server| format!("`platform server evict {}`", server.slot),
    ]
    .map(|of: fn(&&Server) -> String| gone.iter().map(of).collect::<Vec<_>>().join(", "));
    let told = format!("ended without giving a slot back: {names}");
    (!gone.is_empty())
        .then(|| Finding::warning(SERVERS, told, format!("{commands}, if they do not come back")))
}
