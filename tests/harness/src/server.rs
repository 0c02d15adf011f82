//! A server of the test process, on its own thread.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use platform_front::config::Settings;
use platform_front::prerequisites::Prerequisites;
use platform_operator::{administration, settings_check};
use platform_store::{Database, Room};
use platform_web::server::{DatabaseAt, ListeningServer, Server};
use tokio::sync::{Mutex, oneshot};

use super::postgres::TestDatabase;
use super::round_robin::RoundRobin;

/// The password of every user of a test, except `devicebootstrap`.
pub const ADMIN_PASSWORD: &str = "admin-secret";
/// The password of `devicebootstrap`.
pub const BOOTSTRAP_PASSWORD: &str = "bootstrap-secret";

/// A running server, which is stopped when dropped, unless other tests use it.
pub struct TestServer {
    pub(super) servers: Arc<RoundRobin>,
    pub(super) database: Arc<TestDatabase>,
    running: Arc<Running>,
    /// The second server, if the test runs at two servers in turn.
    second: Option<Arc<Running>>,
    /// The tenant of the test.
    pub(super) tenant: String,
}

/// The thread of a server.
struct Running {
    base: String,
    store: Database,
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

/// The server that the tests of one noun share, each in a tenant of its own.
struct Shared {
    tests: Sharing,
    database: Arc<TestDatabase>,
    running: Arc<Running>,
    second: Option<Arc<Running>>,
    /// The number of tenants that tests have received.
    given: usize,
}

/// The tests that may share one server: those of one noun that need the same kind of server.
#[derive(PartialEq)]
struct Sharing {
    noun: String,
    without_lane: bool,
    at_two_servers: bool,
}

impl Sharing {
    /// Returns the tests that the running one may share a server with.
    fn of_this_test() -> Self {
        let thread = thread::current();
        let noun = thread.name().unwrap_or_default().split("::").next().unwrap_or_default().to_owned();
        Self { noun, without_lane: runs_without_lane(), at_two_servers: runs_at_two_servers() }
    }
}

/// The shared server of the tests that are running. Tests start in the order of their names, so those of one noun
/// follow each other; the server of the noun before ends with its last test.
static SHARED: Mutex<Option<Shared>> = Mutex::const_new(None);

/// The number of tests that share one server.
const TESTS_PER_SERVER: usize = 100;

impl TestServer {
    /// Returns a tenant on a server with the defaults that other tests of the same file share. This suffices for most
    /// tests; they read and change their own data by [`count`](Self::count), [`rows`](Self::rows) and
    /// [`execute`](Self::execute). A test needs [`start`](Self::start) if it stops the server, uses the whole database,
    /// or depends on something that all tenants share: the list of tenants, keys and paths of applications, ids of
    /// registrations, rate limits, logs, the disk.
    pub async fn shared() -> Self {
        let tests = Sharing::of_this_test();
        let mut shared = SHARED.lock().await;
        if shared.as_ref().is_none_or(|shared| shared.tests != tests || shared.given == TESTS_PER_SERVER) {
            *shared = Some(Shared::start(tests).await);
        }
        let shared = shared.as_mut().expect("it was started");
        shared.given += 1;
        let tenant = format!("shared{}", shared.given);
        Self::of(shared.database.clone(), shared.running.clone(), shared.second.clone(), tenant)
    }

    /// Starts a server with the defaults, on its own database.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a server with other settings, on its own database.
    pub async fn start_with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::start_on(&TestDatabase::create().await, change).await
    }

    /// Starts a server with the defaults, on its own database, which has a tenant with this id and domain besides
    /// `main`.
    pub async fn start_with_tenant(id: &str, domain: &str) -> Self {
        let database = TestDatabase::create().await;
        database.insert_tenant(id, domain).await;
        Self::start_on(&database, |_| {}).await
    }

    /// Starts two servers with the defaults on one database, which no other test uses.
    pub async fn start_two() -> [Self; 2] {
        let database = TestDatabase::create().await;
        [Self::start_on(&database, |_| {}).await, Self::start_on(&database, |_| {}).await]
    }

    /// Starts two servers on one database, which are called `north` and `south`.
    pub async fn north_and_south() -> [Self; 2] {
        let database = TestDatabase::create().await;
        let named = |name: &str| {
            let name = name.to_owned();
            |settings: &mut Settings| settings.server_name = Some(name)
        };
        [Self::start_on(&database, named("north")).await, Self::start_on(&database, named("south")).await]
    }

    /// Starts this many servers on one database.
    pub async fn start_several(count: usize) -> Vec<Self> {
        let (database, mut servers) = (TestDatabase::create().await, Vec::new());
        for _ in 0..count {
            servers.push(Self::start_on(&database, |_| {}).await);
        }
        servers
    }

    /// Starts a server on this database; several servers may share one.
    pub async fn start_on(database: &Arc<TestDatabase>, change: impl FnOnce(&mut Settings)) -> Self {
        let started = Self::try_start_on(database, change);
        started.unwrap_or_else(|error| panic!("the server does not start: {error}"))
    }

    /// Starts a server as [`start_on`](Self::start_on) does; returns the error that an operator sees if it
    /// fails.
    pub fn try_start_on(
        database: &Arc<TestDatabase>,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Self, String> {
        let mut settings = settings(database);
        change(&mut settings);
        if settings.limits.csv_keep_alive == KEEP_ALIVE {
            // Tests that choose how often a poll gets spaces mean every client, unless they say otherwise.
            settings.limits.csv_keep_alive = settings.limits.keep_alive;
        }
        let (running, second) = run_as_the_test_needs(settings, database)?;
        Ok(Self::of(database.clone(), running, second, "main".into()))
    }

    fn of(
        database: Arc<TestDatabase>,
        running: Arc<Running>,
        second: Option<Arc<Running>>,
        tenant: String,
    ) -> Self {
        let bases = std::iter::once(&running).chain(&second).map(|running| running.base.clone()).collect();
        Self { servers: RoundRobin::over(bases, &database), database, running, second, tenant }
    }

    /// Returns the same server for another test. It ends with the last of these.
    pub fn share(&self) -> Self {
        let (database, running) = (self.database.clone(), self.running.clone());
        Self::of(database, running, self.second.clone(), self.tenant.clone())
    }

    /// Returns scheme and authority, or those of the next server if the test runs at two servers.
    pub fn base(&self) -> &str {
        self.servers.next()
    }

    /// Returns `127.0.0.1` and the port, or those of the next server if the test runs at two servers.
    pub fn address(&self) -> SocketAddr {
        let (_, authority) = self.base().split_once("://").expect("a base has a scheme");
        authority.parse().expect("the authority is an address")
    }

    /// Returns the database of the server, which no other test uses.
    pub fn database(&self) -> &TestDatabase {
        self.assert_alone();
        &self.database
    }

    /// Returns the database, for another server on it.
    pub fn shared_database(&self) -> Arc<TestDatabase> {
        self.assert_alone();
        self.database.clone()
    }

    fn assert_alone(&self) {
        assert_eq!(self.tenant, "main", "other tests share this server: use `start`");
    }

    /// Reports to the server that its disk is nearly full, as the check of the disk does.
    pub fn fill_disk(&self) {
        self.assert_alone();
        self.running.store.set_room(Room::Scarce);
    }

    /// Reports to the server that its disk has enough space again.
    pub fn free_disk(&self) {
        self.running.store.set_room(Room::Enough);
    }

    /// Makes the server use up all ids that it has reserved, as after a pause.
    pub fn exhaust_ids(&self) {
        self.assert_alone();
        self.running.store.membership().ids().close();
    }

    /// Stops the server in an orderly way and waits for its end.
    pub async fn stop(self) {
        for running in std::iter::once(self.running).chain(self.second) {
            let running = Arc::into_inner(running).expect("a shared server is not stopped");
            let Running { stop, ended, .. } = running;
            drop(stop);
            super::soon("the end of the server", ended).await.ok();
        }
    }
}

impl Shared {
    async fn start(tests: Sharing) -> Self {
        let database = TestDatabase::create().await;
        let rows = format!(
            "SELECT 'shared' || n, 'shared' || n || '.com' FROM generate_series(1, {TESTS_PER_SERVER}) n"
        );
        database.insert_tenants(&rows).await;
        let mut settings = settings(&database);
        // All tests have one address. Those of wrong passwords must not delay the others.
        settings.limits.free_guesses_per_source = 1_000_000;
        (settings.limits.token_requests, settings.limits.credential_polls) = (1_000_000, 1_000_000);
        let (running, second) = run_as_the_test_needs(settings, &database).unwrap();
        Self { tests, database, running, second, given: 0 }
    }
}

/// The interval of keep-alive spaces. The head of a held poll arrives with the first space, so a test knows after this
/// time that its poll is held.
const KEEP_ALIVE: Duration = Duration::from_millis(50);

/// The lifetime of sessions between two connects, sufficient on a busy machine too.
const SESSION_INTERVAL: Duration = Duration::from_secs(120);

/// The time within which PostgreSQL must complete a write or a ping, and a server its stop, on a machine with half a
/// core that runs other tests too.
const STARVED: Duration = Duration::from_secs(30);

/// Returns the settings of tests: any free port, one thread of each kind, few connections, early spaces.
fn settings(database: &TestDatabase) -> Settings {
    let mut settings = Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        workers: 1,
        actor_threads: 1,
        read_connections: 4,
        job_connections: 1,
        admin_password: Some(ADMIN_PASSWORD.parse().unwrap()),
        bootstrap_password: Some(BOOTSTRAP_PASSWORD.parse().unwrap()),
        shutdown: STARVED,
        ..Settings::default()
    };
    settings.store.data_dir = database.data_dir().into();
    settings.limits.keep_alive = KEEP_ALIVE;
    settings.limits.csv_keep_alive = KEEP_ALIVE;
    settings.limits.session_interval = SESSION_INTERVAL;
    settings.limits.write_timeout = STARVED;
    settings.limits.database_ping = STARVED;
    settings.fast_lane = !runs_without_lane();
    settings
}

/// Returns whether the test runs without the fast lane. Some tests in tests/api/realtime run a second time in the
/// module `realtime_without_lane`, whose name is part of the name of the test's thread.
fn runs_without_lane() -> bool {
    thread::current().name().is_some_and(|test| test.contains("_without_lane::"))
}

/// Returns whether the test runs at two servers in turn. The tests of notifications run a second time in modules named
/// `…_at_two_servers`. Each request and each connection then uses the next server, as behind a balancer without sticky
/// sessions.
pub fn runs_at_two_servers() -> bool {
    thread::current().name().is_some_and(|test| test.contains("_at_two_servers::"))
}

/// Starts one server, or two if the test needs them.
fn run_as_the_test_needs(
    settings: Settings,
    database: &Arc<TestDatabase>,
) -> Result<(Arc<Running>, Option<Arc<Running>>), String> {
    let second = settings.clone();
    let running = Arc::new(run(settings, database)?);
    let second = runs_at_two_servers().then(|| run(second, database).map(Arc::new)).transpose()?;
    Ok((running, second))
}

/// Starts a server that creates schema, tenants and users, and waits for its end.
pub(super) fn first_start(database: &Arc<TestDatabase>) {
    let Running { stop, ended, .. } = run(settings(database), database).unwrap();
    drop(stop);
    // If the thread panics, the channel closes.
    let waiting = thread::spawn(|| ended.blocking_recv());
    waiting.join().unwrap().expect("the server of the first start ends in an orderly way");
}

/// Starts a server on a new thread, which holds the database until its end.
fn run(settings: Settings, database: &Arc<TestDatabase>) -> Result<Running, String> {
    let database = database.clone();
    let url = database.url().to_owned();
    let (stop, stopped) = oneshot::channel::<()>();
    let (end, ended) = oneshot::channel();
    let (report, started) = mpsc::channel();
    let start = async move || {
        settings_check::check(&settings)?;
        let prerequisites = Prerequisites::check(&settings)?;
        let listening = ListeningServer::open(&settings, prerequisites, DatabaseAt::Shared(&url)).await?;
        let ListeningServer { database, secret_key, .. } = &listening;
        administration::first_start(database, secret_key, &settings, &mut |_| Ok(())).await?;
        Server::start(&settings, listening).await
    };
    let serve = async move || match start().await {
        Ok(server) => {
            report.send(Ok((server.base(), server.database()))).unwrap();
            server.run(Box::pin(async { drop(stopped.await) })).await;
        }
        Err(error) => report.send(Err(error.to_string())).unwrap(),
    };
    let body = move || {
        actix_web::rt::System::new().block_on(serve());
        drop(database);
        // An error means that the receiver has been dropped.
        let _ = end.send(());
    };
    thread::Builder::new().name("server".into()).spawn(body).unwrap();
    let (base, store) = started.recv().map_err(|_| "its thread panicked".to_owned())??;
    Ok(Running { base, store, stop, ended })
}
