//! A server that the generator starts and kills itself.
//!
//! Signals go to the child and to a PostgreSQL whose parent is the child; to nothing else.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::error::Error;
use crate::target::Target;
use crate::target::process::parse_parent;

/// The longest time until a server is ready: PostgreSQL recovers from its log first.
const READY_LIMIT: Duration = Duration::from_secs(120);
/// The timeout of a readiness check.
const RESPONSE_LIMIT: Duration = Duration::from_secs(5);
/// The interval of readiness checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The longest time of an orderly stop.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// The depth below the data directory at which the cluster may lie.
const DEPTH: u32 = 3;

/// The running server; killed when dropped.
#[derive(Debug)]
pub(crate) struct ServerChild {
    child: Child,
}

impl ServerChild {
    /// Starts a server by a shell command, with its output appended to a file, and waits until it is ready.
    ///
    /// # Errors
    /// The address is in use already, the command ends, or the server is not ready within two minutes.
    pub(crate) async fn start(target: &Target, command: &str, log: &Path) -> Result<Self, Error> {
        Self::start_with(target, command, log, &[]).await
    }

    /// Starts a server as [`Self::start`] does, with these environment variables.
    ///
    /// # Errors
    /// Fails like [`Self::start`].
    pub(crate) async fn start_with(
        target: &Target,
        command: &str,
        log: &Path,
        variables: &[(&str, String)],
    ) -> Result<Self, Error> {
        if target.connect().await.is_ok() {
            return Err(Error::Refused(format!("{} is taken: nothing was started", target.authority())));
        }
        let output = OpenOptions::new().create(true).append(true).open(log)?;
        let errors = output.try_clone()?;
        // The shell replaces itself by the server, so that the child is the server itself.
        let child = Command::new("sh")
            .args(["-c", &format!("exec {command}")])
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()?;
        let mut server = Self { child };
        server.wait_until_ready(target).await?;
        Ok(server)
    }

    /// Waits until the server reports that it is ready; returns how long that took.
    ///
    /// # Errors
    /// It ended, or it is not ready within two minutes.
    pub(crate) async fn wait_until_ready(&mut self, target: &Target) -> Result<Duration, Error> {
        let started = Instant::now();
        while !is_ready(target).await {
            if let Some(status) = self.child.try_wait()? {
                return Err(Error::Refused(format!("the server ended: {status}; its output says why")));
            }
            if started.elapsed() > READY_LIMIT {
                return Err(Error::Timeout("waiting for the server"));
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        Ok(started.elapsed())
    }

    /// Kills the server, with SIGKILL.
    ///
    /// # Errors
    /// It does not exist any more.
    pub(crate) async fn kill(mut self) -> Result<(), Error> {
        Ok(self.child.kill().await?)
    }

    /// Pauses the server, with SIGSTOP.
    ///
    /// # Errors
    /// It does not exist any more.
    pub(crate) fn pause(&self) -> Result<(), Error> {
        self.signal(Signal::STOP)
    }

    /// Lets a paused server continue, with SIGCONT.
    ///
    /// # Errors
    /// It does not exist any more.
    pub(crate) fn resume(&self) -> Result<(), Error> {
        self.signal(Signal::CONT)
    }

    /// Returns its process id, unless it has ended.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns the server, unless it has ended by itself.
    pub(crate) fn running(mut self) -> Option<Self> {
        matches!(self.child.try_wait(), Ok(None)).then_some(self)
    }

    /// Stops the server with SIGTERM, and waits for its end.
    ///
    /// # Errors
    /// It did not stop within a minute; then it is killed.
    pub(crate) async fn stop(mut self) -> Result<(), Error> {
        if let Some(pid) = self.pid() {
            kill_process(pid, Signal::TERM).map_err(std::io::Error::from)?;
        }
        let stopped = tokio::time::timeout(STOP_LIMIT, self.child.wait()).await;
        stopped.map_err(|_| Error::Timeout("stopping the server"))??;
        Ok(())
    }

    /// Stops the private PostgreSQL of this server like `pg_ctl stop -m immediate`: with SIGQUIT to the
    /// process that `postmaster.pid` below the data directory names, if its parent is this server.
    ///
    /// # Errors
    /// The file does not exist, or it names a process of another server.
    pub(crate) fn stop_private_postgres(&self, data_dir: &Path) -> Result<(), Error> {
        let refused = |reason: &str| Error::Refused(format!("{}: {reason}", data_dir.display()));
        let file = find_pid_file(data_dir, DEPTH).ok_or_else(|| refused("no postmaster.pid below it"))?;
        let postmaster: i32 = fs::read_to_string(file)?
            .lines()
            .next()
            .and_then(|line| line.trim().parse().ok())
            .ok_or_else(|| refused("postmaster.pid holds no process id"))?;
        let stat = fs::read_to_string(format!("/proc/{postmaster}/stat"))?;
        let server = self.child.id().ok_or_else(|| refused("the server has ended"))?;
        if parse_parent(&stat) != Some(server) {
            return Err(refused("its PostgreSQL was not started by the server of this run"));
        }
        let pid = Pid::from_raw(postmaster).ok_or_else(|| refused("postmaster.pid holds no process id"))?;
        Ok(kill_process(pid, Signal::QUIT).map_err(std::io::Error::from)?)
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        let pid = self.pid().ok_or_else(|| Error::Refused("the server has ended".to_owned()))?;
        Ok(kill_process(pid, signal).map_err(std::io::Error::from)?)
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }
}

/// Returns whether it reports that it is ready, and can read from its database: it may not have noticed yet
/// that the database is down.
async fn is_ready(target: &Target) -> bool {
    let asked = async {
        let mut connection = target.connect().await?;
        for path in ["/health/ready", "/inventory/managedObjects?pageSize=1"] {
            if connection.call("asking whether it is ready", &target.get(path)).await?.status != 200 {
                return Ok::<_, Error>(false);
            }
        }
        Ok(true)
    };
    matches!(tokio::time::timeout(RESPONSE_LIMIT, asked).await, Ok(Ok(true)))
}

fn find_pid_file(directory: &Path, depth: u32) -> Option<PathBuf> {
    let file = directory.join("postmaster.pid");
    if file.is_file() {
        return Some(file);
    }
    let below = fs::read_dir(directory).ok().filter(|_| depth > 0)?;
    below.flatten().find_map(|entry| find_pid_file(&entry.path(), depth - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Reach;

    fn target(port: u16) -> Target {
        Target::resolve(&format!("http://127.0.0.1:{port}"), Reach::Loopback, "a", "b").unwrap()
    }

    #[tokio::test]
    async fn server_is_not_started_at_an_address_that_responds() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = target(listener.local_addr().unwrap().port());
        let started = ServerChild::start(&target, "sleep 60", Path::new("/dev/null")).await;
        assert!(started.unwrap_err().to_string().ends_with("is taken: nothing was started"));
    }

    #[tokio::test]
    async fn server_that_ends_before_it_is_ready_is_reported_at_once() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let started = ServerChild::start(&target(free), "false", Path::new("/dev/null")).await;
        assert!(started.unwrap_err().to_string().contains("the server ended"));
    }
}
