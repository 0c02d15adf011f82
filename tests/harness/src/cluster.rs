//! A PostgreSQL as an operator sets it up: with TCP, configuration files, certificates and a standby.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::postgres::sweeper;
use super::program::{free_port, postgres_programs, scratch};

/// Settings of every cluster. Its data need not survive a crash of the machine.
const SETTINGS: &str = "fsync = off\nlisten_addresses = '127.0.0.1'\nmax_connections = 60\nwal_level = replica\n\
    max_wal_senders = 4\nmax_worker_processes = 4\nshared_buffers = 32MB\n";

/// A PostgreSQL of one test, which ends with the test or with its process.
pub struct Cluster {
    directory: PathBuf,
    port: u16,
    sweeper: Child,
    _scratch: TempDir,
}

impl Cluster {
    /// Creates and starts a cluster with an empty database `platform` of the superuser `platform`. `settings` are lines
    /// of `postgresql.conf`; `rules` are lines of `pg_hba.conf` in addition to the one for the socket.
    pub fn start(settings: &str, rules: &str) -> Self {
        let cluster = Self::prepare();
        let data = cluster.data();
        cluster.run("initdb", &["-D", &data, "-U", "platform", "-A", "trust", "-E", "UTF8", "--no-sync"]);
        cluster.write("postgresql.conf", &format!("{SETTINGS}{}{settings}", cluster.place()));
        cluster.write("pg_hba.conf", &format!("local all all trust\nlocal replication all trust\n{rules}"));
        cluster.start_again();
        cluster
            .run("createdb", &["-h", &cluster.socket(), "-p", &cluster.port(), "-U", "platform", "platform"]);
        cluster
    }

    /// Creates and starts a standby of this cluster, which streams under the name `standby`.
    pub fn standby(&self) -> Self {
        let cluster = Self::prepare();
        let from =
            format!("host={} port={} user=platform application_name=standby", self.socket(), self.port);
        cluster.run("pg_basebackup", &["-d", &from, "-D", &cluster.data(), "-R", "-c", "fast", "--no-sync"]);
        let settings = fs::read_to_string(Path::new(&cluster.data()).join("postgresql.conf")).unwrap();
        cluster.write("postgresql.conf", &format!("{settings}{}", cluster.place()));
        cluster.start_again();
        cluster
    }

    fn prepare() -> Self {
        let scratch = scratch();
        let directory = scratch.path().to_owned();
        if let Some((user, group)) = account() {
            chown(&directory, Some(user), Some(group)).unwrap();
        }
        let port = free_port();
        Self { sweeper: sweeper(&directory), _scratch: scratch, directory, port }
    }

    /// Returns the settings by which this cluster differs from the one that it may be a copy of.
    fn place(&self) -> String {
        format!("port = {}\nunix_socket_directories = '{}'\n", self.port, self.socket())
    }

    /// Writes a file into the data directory, readable only by the account of PostgreSQL.
    pub fn write(&self, name: &str, content: &str) {
        let file = Path::new(&self.data()).join(name);
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        if let Some((user, group)) = account() {
            chown(&file, Some(user), Some(group)).unwrap();
        }
    }

    /// Returns the data directory. It has the name of a private PostgreSQL's, which the sweeper expects.
    fn data(&self) -> String {
        self.directory.join("postgres").to_str().unwrap().to_owned()
    }

    /// Returns the directory of the test.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the directory of the socket.
    pub fn socket(&self) -> String {
        self.directory.to_str().unwrap().to_owned()
    }

    /// Returns the TCP port.
    pub fn port(&self) -> String {
        self.port.to_string()
    }

    /// Returns the connection string for its socket.
    pub fn url(&self) -> String {
        format!("host={} port={} user=platform dbname=platform", self.socket(), self.port)
    }

    /// Starts it again after a stop.
    pub fn start_again(&self) {
        let log = self.directory.join("log");
        self.control(&["start", "-w", "-t", "60", "-l", log.to_str().unwrap()]);
    }

    /// Stops it like a crash.
    pub fn crash(&self) {
        self.control(&["stop", "-w", "-m", "immediate"]);
    }

    /// Promotes the standby.
    pub fn promote(&self) {
        self.control(&["promote", "-w"]);
    }

    /// Reloads the configuration files.
    pub fn reload(&self) {
        self.control(&["reload"]);
    }

    fn control(&self, arguments: &[&str]) {
        let data = self.data();
        self.run("pg_ctl", &[&["-D", &data], arguments].concat());
    }

    fn run(&self, program: &str, arguments: &[impl AsRef<OsStr>]) {
        let mut command = Command::new(directory_of_programs().join(program));
        command.args(arguments).current_dir(&self.directory).env("LC_ALL", "C.UTF-8").env_remove("PGDATA");
        if let Some((user, group)) = account() {
            command.uid(user).gid(group);
        }
        // The output goes to a file, because a pipe would stay open as long as the daemon that the program starts.
        let said = self.directory.join(format!("{program}.txt"));
        let file = fs::File::create(&said).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let status = command.status().unwrap();
        assert!(status.success(), "{program}: {}", fs::read_to_string(&said).unwrap_or_default());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The sweeper stops PostgreSQL when its standard input closes.
        drop(self.sweeper.stdin.take());
        self.sweeper.wait().ok();
    }
}

/// Returns the account for PostgreSQL if the tests run as root, because PostgreSQL refuses to run as root.
fn account() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let numbers = |name: &str| {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    };
    ["postgres", "nobody"].iter().find_map(|name| numbers(name))
}

/// Returns the directory of the chosen programs, else of those of the newest installed version.
fn directory_of_programs() -> PathBuf {
    if let Some(chosen) = postgres_programs() {
        return chosen;
    }
    let versions =
        fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path());
    let usual =
        versions.filter(|path| fs::metadata(path.join("bin/pg_ctl")).is_ok_and(|file| file.mode() & 1 == 1));
    let number = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    match usual.max_by_key(number) {
        Some(newest) => newest.join("bin"),
        None => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&path).find(|directory| directory.join("pg_ctl").is_file());
            found.expect("pg_ctl is installed")
        }
    }
}
