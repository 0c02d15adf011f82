//! One PostgreSQL per test process, one database per test.

use std::fs::Permissions;
use std::os::unix::{fs::PermissionsExt, process::CommandExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, mpsc};
use std::thread;

use parking_lot::Mutex;
use platform_front::secrets::password::SecretKey;
use platform_model::limits::Limits;
use platform_operator::embedded_postgres::EmbeddedPostgres;
use platform_store::realtime::journal::partitions::make_partitions;
use platform_store::{Connections, Database};
use rustix::fs::statvfs;
use tokio::runtime::Handle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};

use super::private_postgres::options_in;
use super::{eventually, server};

/// The database that tests get copies of. It is migrated and has the tenants and users of a first start.
const TEMPLATE: &str = "template";
/// The bytes in memory that suffice for the databases of a test run. The write-ahead log is limited to one gibibyte.
const ENOUGH: u64 = 4 << 30;
/// A script that stops PostgreSQL and removes the directory when the test process has ended for whatever reason,
/// because the pipe that is the script's standard input closes then.
const SWEEPER: &str = r#"trap '' INT TERM HUP; cat >/dev/null
pid=$(head -n 1 "$0/postgres/postmaster.pid" 2>/dev/null)
for signal in INT QUIT KILL; do
  tries=50
  while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && [ $tries -gt 0 ]; do
    [ $tries -eq 50 ] && kill -$signal "$pid"; tries=$((tries - 1)); sleep 0.1
  done
done
rm -rf "$0""#;

/// The PostgreSQL of this test process.
struct Cluster {
    directory: PathBuf,
    url: String,
    unneeded: mpsc::Sender<String>,
    idle: Idle,
    _sweeper: Child,
}

static CLUSTER: OnceLock<Cluster> = OnceLock::new();

fn cluster() -> &'static Cluster {
    CLUSTER.get_or_init(|| {
        let directory =
            tempfile::Builder::new().prefix("platform-api-").tempdir_in(quickest()).unwrap().keep();
        // PostgreSQL runs under another account when the tests run as root.
        std::fs::set_permissions(&directory, Permissions::from_mode(0o711)).unwrap();
        let sweeper = sweeper(&directory);
        let (started, ready) = mpsc::channel();
        let (unneeded, names) = mpsc::channel();
        let data_dir = directory.clone();
        // The kernel ends PostgreSQL when the thread that started it ends, so this thread must stay.
        let keep = move || keep(&data_dir, &started, &names);
        thread::Builder::new().name("postgres".into()).spawn(keep).unwrap();
        let url = ready.recv().expect("the thread of PostgreSQL prints its error");
        Cluster { directory, url, unneeded, idle: Idle::default(), _sweeper: sweeper }
    })
}

/// Returns the directory where files are created and deleted fastest: in memory if there is enough space. A database
/// has hundreds of files, and file systems take long to reuse deleted ones.
pub(super) fn quickest() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let room = statvfs(memory).map_or(0, |found| found.f_bavail * found.f_frsize);
    if room >= ENOUGH { memory.to_owned() } else { std::env::temp_dir() }
}

pub(super) fn sweeper(directory: &Path) -> Child {
    let mut command = Command::new("sh");
    command.arg("-c").arg(SWEEPER).arg(directory).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Runs PostgreSQL as long as the process lives, and drops the databases of finished tests.
fn keep(directory: &Path, started: &mpsc::Sender<String>, unneeded: &mpsc::Receiver<String>) {
    let postgres = EmbeddedPostgres::start(options_in(directory)).unwrap();
    let url = postgres.database_url();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { run(&url, &format!("CREATE DATABASE {TEMPLATE}")).await.unwrap() });
    let template = TestDatabase::at(&url_of(&url, TEMPLATE), directory);
    server::first_start(&template);
    // The server of the first start ended before it created these. Every test would create them.
    runtime.block_on(async { make_partitions(&template.open()).await.unwrap() });
    // Verifying a password that a person chose takes a tenth of a second, which only tests of passwords need.
    let quick = format!(
        "UPDATE users SET password_hash = CASE name WHEN 'devicebootstrap' THEN '{}' ELSE '{}' END",
        template.key().hash(server::BOOTSTRAP_PASSWORD),
        template.key().hash(server::ADMIN_PASSWORD)
    );
    runtime.block_on(async { run(template.url(), &quick).await.unwrap() });
    started.send(url.clone()).unwrap();
    let client = runtime.block_on(connect(&url)).unwrap();
    for name in unneeded {
        // A database that is not dropped only occupies space until the tests end.
        let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        runtime.block_on(async { client.batch_execute(&statement).await.ok() });
    }
}

/// Returns a directory that is removed when the test process has ended.
pub(super) fn directory_of_this_run() -> &'static Path {
    &cluster().directory
}

fn url_of(url: &str, database: &str) -> String {
    url.replace("dbname=platform", &format!("dbname={database}"))
}

/// The runtime of the tests' own connections, on a thread of its own: the runtime of a test ends with the test, and
/// other tests use its connections afterwards.
static CONNECTIONS: LazyLock<Handle> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(std::future::pending::<()>());
    thread::Builder::new().name("connections".into()).spawn(run).unwrap();
    handle
});

/// Runs a statement on a separate connection, and waits for the end of that connection.
async fn run(url: &str, statement: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let driver = tokio::spawn(connection);
    let outcome = client.batch_execute(statement).await;
    drop(client);
    // Only the outcome of the statement matters, not that of the connection.
    driver.await.ok();
    outcome
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let url = url.to_owned();
    let connecting = async move {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    };
    CONNECTIONS.spawn(connecting).await.expect("connecting does not panic")
}

/// Connections that are not in use. A new one costs PostgreSQL a process that begins without any cache.
#[derive(Debug, Default)]
struct Idle(Mutex<Vec<Client>>);

impl Idle {
    /// Runs statements on a connection to `url` that nothing else uses meanwhile.
    async fn with<T>(&self, url: &str, work: impl AsyncFnOnce(&Client) -> T) -> T {
        let idle = self.0.lock().pop().filter(|client| !client.is_closed());
        let client = match idle {
            Some(client) => client,
            None => connect(url).await.unwrap(),
        };
        let outcome = work(&client).await;
        self.0.lock().push(client);
        outcome
    }
}

/// The database of one test; dropped with its last owner.
#[derive(Debug)]
pub struct TestDatabase {
    /// The name; absent for a database that the test itself manages.
    name: Option<String>,
    url: String,
    data_dir: PathBuf,
    idle: Idle,
}

impl TestDatabase {
    /// Creates a copy of the template.
    pub async fn create() -> Arc<Self> {
        Self::create_from(TEMPLATE).await
    }

    /// Creates a database without a schema.
    pub async fn create_empty() -> Arc<Self> {
        Self::create_from("template0").await
    }

    async fn create_from(template: &str) -> Arc<Self> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let cluster = cluster();
        let name = format!("test_{}", LAST.fetch_add(1, Ordering::Relaxed));
        let statement = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
        // Compressing pages for the write-ahead log would take most of the time.
        let url = format!("{} options='-c wal_compression=off'", cluster.url);
        // PostgreSQL rejects this while a session is connected to the template, such as the last connection of the
        // first start.
        let copy = async |client: &Client| client.batch_execute(&statement).await.ok();
        eventually("a copy of the template", async || cluster.idle.with(&url, copy).await).await;
        let data_dir = cluster.directory.clone();
        Arc::new(Self { url: url_of(&cluster.url, &name), name: Some(name), data_dir, idle: Idle::default() })
    }

    /// Returns an empty database on another PostgreSQL, which the test stops and starts.
    pub fn at(url: &str, data_dir: &Path) -> Arc<Self> {
        Arc::new(Self {
            name: None,
            url: url.to_owned(),
            data_dir: data_dir.to_owned(),
            idle: Idle::default(),
        })
    }

    /// Returns the connection URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the data directory of the servers on this database; it has their common secret key.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Closes the connections of [`query`](Self::query) and [`execute`](Self::execute), which are kept for later
    /// statements.
    pub fn disconnect(&self) {
        self.idle.0.lock().clear();
    }

    /// Returns the rows of a query. A lock or a setting that it leaves in its session stays after it: see
    /// [`run_script`](Self::run_script).
    pub async fn query(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        self.idle.with(&self.url, async |client| client.query(statement, parameters).await.unwrap()).await
    }

    /// Returns the number of rows a statement changed.
    pub async fn execute(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> u64 {
        self.idle.with(&self.url, async |client| client.execute(statement, parameters).await.unwrap()).await
    }

    /// Runs statements in a session that ends after them.
    pub async fn run_script(&self, statements: &str) {
        run(&self.url, statements).await.unwrap();
    }

    /// Adds a tenant with the groups of `main` and a user `admin` with the rights and the password of
    /// `main`'s. Servers read the domains at their start, so this must precede it.
    pub async fn insert_tenant(&self, id: &str, domain: &str) {
        self.insert_tenants(&format!("VALUES ('{id}', '{domain}')")).await;
    }

    /// Adds tenants as [`insert_tenant`](Self::insert_tenant) does. `rows` is a query for their ids and domains.
    pub(super) async fn insert_tenants(&self, rows: &str) {
        let statements = format!(
            "CREATE TEMPORARY TABLE added (id, domain) AS {rows};
            INSERT INTO tenants SELECT id, domain, 'Acme', 'ACTIVE', now() FROM added;
            INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at)
                SELECT added.id, name, password_hash, true, roles, now() FROM users, added
                WHERE tenant = 'main' AND name = 'admin';
            INSERT INTO groups SELECT added.id, groups.id, name, description, roles, device_permissions
                FROM groups, added WHERE tenant = 'main';
            UPDATE tenants SET last_group = (SELECT max(g.id) FROM groups g WHERE g.tenant = tenants.id)
                WHERE id IN (SELECT id FROM added);
            INSERT INTO group_members SELECT added.id, group_id, user_name
                FROM group_members, added WHERE tenant = 'main' AND user_name = 'admin';
            DROP TABLE added"
        );
        self.idle.with(&self.url, async |client| client.batch_execute(&statements).await.unwrap()).await;
    }

    /// Adds a user of tenant `main` with these roles and the password of its `admin`.
    pub async fn insert_user(&self, name: &str, roles: &[&str]) {
        self.insert_user_of("main", name, roles).await;
    }

    /// Adds a user of a tenant as [`insert_user`](Self::insert_user) does.
    pub(super) async fn insert_user_of(&self, tenant: &str, name: &str, roles: &[&str]) {
        let statement = "INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at) \
            SELECT $1, $2, password_hash, true, $3, now() FROM users WHERE tenant = 'main' AND name = 'admin'";
        self.execute(statement, &[&tenant, &name, &roles]).await;
    }

    /// Opens the database with few connections, as commands do.
    pub fn open(&self) -> Database {
        Database::new(&self.url, Connections { reads: 1, devices: 1 }, &Limits::default()).unwrap()
    }

    /// Returns the secret key of the servers on this database.
    pub fn key(&self) -> SecretKey {
        SecretKey::load(&self.data_dir.join("secret.key")).unwrap().unwrap()
    }

    /// Returns the audit records of all tenants about this source: see [`TenantData::audit_records`].
    pub async fn audit_records(&self, source: &str) -> Vec<serde_json::Value> {
        let statement = format!("{AUDIT_RECORDS} WHERE source = $1 ORDER BY id");
        self.query(&statement, &[&source]).await.iter().map(|row| row.get(0)).collect()
    }

    /// Returns every row of every table as text: the content of a stolen dump.
    pub async fn dump(&self) -> String {
        let tables = "SELECT quote_ident(c.relname) FROM pg_class c WHERE c.relkind = 'r' \
            AND c.relnamespace = 'public'::regnamespace ORDER BY 1";
        // Bytes are shown as text.
        let name: String = self.query("SELECT current_database()::text", &[]).await[0].get(0);
        self.execute(&format!("ALTER DATABASE {name} SET bytea_output = 'escape'"), &[]).await;
        let mut dump = String::new();
        for table in self.query(tables, &[]).await {
            let table: String = table.get(0);
            for row in self.query(&format!("SELECT t::text FROM {table} t"), &[]).await {
                dump.push_str(&format!("{table} {}\n", row.get::<_, String>(0)));
            }
        }
        dump
    }

    /// Returns the number of rows of a table.
    pub async fn count(&self, table: &str) -> i64 {
        self.query(&format!("SELECT count(*) FROM {table}"), &[]).await[0].get(0)
    }

    /// Returns the number of statements that are in `pg_sleep` at this moment.
    pub async fn count_sleeping(&self) -> i64 {
        self.count("pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'").await
    }
}

/// Selects audit records as tests compare them.
const AUDIT_RECORDS: &str = "SELECT json_build_object('type', type, 'activity', activity, 'user', user_name, \
    'severity', severity, 'changes', changes) FROM audit_records";

/// The rows of one tenant in a database: the tenant of a test, or `main`.
#[derive(Debug, Clone, Copy)]
pub struct TenantData<'d> {
    pub(super) database: &'d TestDatabase,
    pub(super) tenant: &'d str,
}

impl<'d> From<&'d TestDatabase> for TenantData<'d> {
    fn from(database: &'d TestDatabase) -> Self {
        Self { database, tenant: "main" }
    }
}

impl<'d> From<&'d Arc<TestDatabase>> for TenantData<'d> {
    fn from(database: &'d Arc<TestDatabase>) -> Self {
        Self::from(&**database)
    }
}

impl TenantData<'_> {
    /// Returns the rows of a query whose first parameter is the tenant.
    pub async fn rows(&self, statement: &str, others: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        self.database.query(statement, &[&[&self.tenant as &(dyn ToSql + Sync)], others].concat()).await
    }

    /// Returns the number of rows that a statement changed; its first parameter is the tenant.
    pub async fn execute(&self, statement: &str, others: &[&(dyn ToSql + Sync)]) -> u64 {
        self.database.execute(statement, &[&[&self.tenant as &(dyn ToSql + Sync)], others].concat()).await
    }

    /// Returns the number of rows of a table that belong to the tenant.
    pub async fn count(&self, table: &str) -> i64 {
        self.rows(&format!("SELECT count(*) FROM {table} WHERE tenant = $1"), &[]).await[0].get(0)
    }

    /// Returns the audit records whose source is this id, oldest first: type, activity, user, severity and changes.
    pub async fn audit_records(&self, source: &str) -> Vec<serde_json::Value> {
        let statement = format!("{AUDIT_RECORDS} WHERE tenant = $1 AND source = $2 ORDER BY id");
        self.rows(&statement, &[&source]).await.iter().map(|row| row.get(0)).collect()
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            // The receiver lives as long as the process.
            cluster().unneeded.send(name).ok();
        }
    }
}
