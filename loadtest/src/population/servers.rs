//! Starts the servers of a run on one database, and kills, restarts and pauses them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_postgres::{Client, NoTls};

use super::plan::ServersPlan;
use crate::cli::Common;
use crate::error::Error;
use crate::target::child::ServerChild;
use crate::target::{Reach, Target};

/// The connections for reads of each server; PostgreSQL accepts a hundred in all by default.
const READ_CONNECTIONS: &str = "4";
/// The time for which a server drains before it stops. It is longer than the generator's balancer needs to notice the
/// drain.
const DRAIN_SECONDS: u64 = 2;
/// The statement that the listening connection of a server repeats all the time.
const LISTENING: &str = "%SELECT EXISTS (SELECT FROM publication_servers%";
/// The pause after PostgreSQL was stopped, before the run checks whether the servers ended with it.
const AFTERMATH: Duration = Duration::from_millis(500);
/// The number of times that listening connections are looked for, and the time between two looks.
const LOOKS: u32 = 50;
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND query LIKE $1 AND pid <> pg_backend_pid()";

/// The servers, by number.
#[derive(Debug)]
pub(super) struct Servers {
    /// The addresses of the servers.
    pub(super) targets: Vec<Arc<Target>>,
    children: Vec<Option<ServerChild>>,
    /// The server that runs the private PostgreSQL, so that each of the others can be killed.
    keeper: Option<ServerChild>,
    /// The address of the keeper.
    keeper_target: Arc<Target>,
    directory: PathBuf,
    command: String,
    database_url: String,
    password: String,
    /// The time for which a server drains before an orderly stop.
    drain_seconds: u64,
    /// The processes that are running, for observers.
    running: Arc<Mutex<Vec<u32>>>,
}

impl Servers {
    /// Starts all servers, and the one with the private PostgreSQL if no other PostgreSQL is given.
    ///
    /// # Errors
    /// The password is missing, an address is in use, or a server does not become ready.
    pub(super) async fn start(common: &Common, plan: &ServersPlan, drains: bool) -> Result<Self, Error> {
        if common.password.is_empty() {
            return Err(Error::Refused("set the password of admin with LOADTEST_PASSWORD".to_owned()));
        }
        let directory = std::path::absolute(&plan.directory)?;
        fs::create_dir_all(&directory)?;
        let target = |number: u16| {
            let url = format!("http://127.0.0.1:{}", plan.port + number);
            Target::resolve(&url, Reach::Loopback, &common.user, &common.password).map(Arc::new)
        };
        let targets = (0..plan.count).map(target).collect::<Result<Vec<_>, _>>()?;
        let mut servers = Self {
            children: targets.iter().map(|_| None).collect(),
            targets,
            keeper: None,
            keeper_target: target(plan.count)?,
            command: plan.command.clone(),
            database_url: plan.database_url.clone().unwrap_or_default(),
            password: common.password.clone(),
            directory,
            drain_seconds: if drains { DRAIN_SECONDS } else { 0 },
            running: Arc::default(),
        };
        if plan.database_url.is_none() {
            servers.start_keeper().await?;
        }
        for number in 0..servers.targets.len() {
            servers.restart(number).await?;
        }
        Ok(servers)
    }

    /// Starts a server with a private PostgreSQL, which clients do not use.
    async fn start_keeper(&mut self) -> Result<(), Error> {
        let data_dir = self.keeper_directory();
        let target = Arc::clone(&self.keeper_target);
        let mut variables = self.variables(&target, &data_dir);
        let few = ["PLATFORM_WORKERS", "PLATFORM_ACTOR_THREADS", "PLATFORM_JOB_CONNECTIONS"];
        variables.extend(few.map(|name| (name, "1".to_owned())));
        variables.push(("PLATFORM_READ_CONNECTIONS", "1".to_owned()));
        let command = format!("env -u PLATFORM_DATABASE_URL {}", self.command);
        let log = self.directory.join("keeper.log");
        self.keeper = Some(ServerChild::start_with(&target, &command, &log, &variables).await?);
        self.database_url = format!("host={} user=platform dbname=platform", data_dir.join("run").display());
        Ok(())
    }

    fn keeper_directory(&self) -> PathBuf {
        self.directory.join("keeper")
    }

    fn variables(&self, target: &Target, data_dir: &Path) -> Vec<(&'static str, String)> {
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        vec![
            ("PLATFORM_LISTEN", target.authority().to_owned()),
            ("PLATFORM_DATA_DIR", path(data_dir.to_owned())),
            ("PLATFORM_SECRET_KEY_FILE", path(self.directory.join("secret.key"))),
            ("PLATFORM_ADMIN_PASSWORD", self.password.clone()),
            ("PLATFORM_DRAIN_SECONDS", self.drain_seconds.to_string()),
        ]
    }

    /// Starts a server that is not running, and waits until it is ready.
    ///
    /// # Errors
    /// The server does not become ready.
    pub(super) async fn restart(&mut self, number: usize) -> Result<(), Error> {
        let name = format!("server-{number}");
        let target = &self.targets[number];
        let mut variables = self.variables(target, &self.directory.join(&name));
        variables.push(("PLATFORM_DATABASE_URL", self.database_url.clone()));
        variables.push(("PLATFORM_READ_CONNECTIONS", READ_CONNECTIONS.to_owned()));
        let log = self.directory.join(format!("{name}.log"));
        self.children[number] = Some(ServerChild::start_with(target, &self.command, &log, &variables).await?);
        self.note_running();
        Ok(())
    }

    /// Kills a server with SIGKILL.
    ///
    /// # Errors
    /// The server had ended already.
    pub(super) async fn kill(&mut self, number: usize) -> Result<(), Error> {
        let child = self.children[number].take().ok_or_else(ended)?;
        self.note_running();
        child.kill().await
    }

    /// Stops a server in an orderly way.
    ///
    /// # Errors
    /// The server had ended already, or does not stop within a minute.
    pub(super) async fn stop_one(&mut self, number: usize) -> Result<(), Error> {
        let child = self.children[number].take().ok_or_else(ended)?;
        self.note_running();
        child.stop().await
    }

    /// Stops the private PostgreSQL immediately, and waits until it runs again and all servers are ready.
    ///
    /// # Errors
    /// A server ended, or is not ready within two minutes.
    pub(super) async fn stop_postgres(&mut self) -> Result<(), Error> {
        let keeper = self.keeper.take().ok_or_else(ended)?;
        keeper.stop_private_postgres(&self.keeper_directory())?;
        sleep(AFTERMATH).await;
        // A server may end when its database stops.
        match keeper.running() {
            Some(mut keeper) => {
                keeper.wait_until_ready(&self.keeper_target).await?;
                self.keeper = Some(keeper);
            }
            None => self.start_keeper().await?,
        }
        for (child, target) in self.children.iter_mut().zip(&self.targets) {
            child.as_mut().ok_or_else(ended)?.wait_until_ready(target).await?;
        }
        Ok(())
    }

    /// Returns a server.
    ///
    /// # Errors
    /// The server has ended.
    pub(super) fn running(&self, number: usize) -> Result<&ServerChild, Error> {
        self.children[number].as_ref().ok_or_else(ended)
    }

    /// Connects to the database of the servers.
    ///
    /// # Errors
    /// The database is not reachable.
    pub(super) async fn database(&self) -> Result<Client, Error> {
        let (client, connection) = tokio_postgres::connect(&self.database_url, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Returns the server processes that clients use, while they run.
    pub(super) fn processes(&self) -> Arc<Mutex<Vec<u32>>> {
        Arc::clone(&self.running)
    }

    /// Returns the process whose PostgreSQL the servers use, if it is private.
    pub(super) fn keeper_process(&self) -> Option<u32> {
        self.keeper.as_ref().and_then(ServerChild::id)
    }

    /// Returns whether the PostgreSQL of the servers is private to this run.
    pub(super) fn is_private(&self) -> bool {
        self.keeper.is_some()
    }

    /// Returns the address of the database.
    pub(super) fn database_url(&self) -> &str {
        &self.database_url
    }

    fn note_running(&self) {
        let running = self.children.iter().flatten().filter_map(ServerChild::id).collect();
        *self.running.lock() = running;
    }

    /// Stops the servers, with the keeper of the private PostgreSQL last.
    ///
    /// # Errors
    /// A server did not stop within a minute.
    pub(super) async fn stop(self) -> Result<(), Error> {
        for child in self.children.into_iter().flatten().chain(self.keeper) {
            child.stop().await?;
        }
        Ok(())
    }
}

/// Terminates the listening connections of all servers. Returns their number. At some moments these connections execute
/// another statement, so they are looked for several times.
///
/// # Errors
/// The database is not reachable.
pub(super) async fn cut_listening_connections(database: &Client) -> Result<u64, Error> {
    for _ in 0..LOOKS {
        let cut = database.execute(CUT, &[&LISTENING]).await?;
        if cut > 0 {
            return Ok(cut);
        }
        sleep(LOOK_INTERVAL).await;
    }
    Ok(0)
}

fn ended() -> Error {
    Error::Refused("a server has ended by itself; its log says why".to_owned())
}
