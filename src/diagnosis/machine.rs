//! The machine of the server: its address, files, disk, and limits.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytesize::ByteSize;
use rustix::fs::statvfs;
use rustix::process::{Resource, getrlimit};

use super::Finding;
use crate::config::Settings;
use crate::embedded_postgres::{client_program, holds_database};
use crate::secret_key;
use crate::tls;

/// The timeout of a connection to the server on this machine.
const PATIENCE: Duration = Duration::from_secs(2);
/// The open files below which a fleet is turned away: each device that waits needs one.
const FILES: u64 = 8192;
/// The time before its end at which a certificate should have been renewed.
const RENEWAL: Duration = Duration::from_secs(14 * 24 * 3600);
/// The oldest version of PostgreSQL that is supported.
pub(super) const OLDEST_POSTGRES: u32 = 14;

/// Returns all findings about the machine.
pub(super) fn check(settings: &Settings) -> Vec<Finding> {
    let mut findings = vec![address(settings), open_files(), key(settings)];
    findings.extend(disk(settings));
    findings.extend(certificate(settings));
    findings.extend(backups(settings));
    findings
}

/// Returns whether a server answers at the address.
pub(super) fn server(settings: &Settings) -> Finding {
    told_of("server", &ask(settings), settings)
}

/// Returns what an answer, or its absence, says about the server.
fn told_of(subject: &'static str, answer: &io::Result<Answer>, settings: &Settings) -> Finding {
    match answer {
        Ok(Answer::Status(200)) => Finding::good(subject, format!("ready at {}", base(settings))),
        Ok(Answer::Status(status)) => {
            let remedy = "the log of the server says why; `platform server list` shows one that drains";
            Finding::warning(subject, format!("not ready at {} ({status})", base(settings)), remedy)
        }
        Ok(Answer::Encrypted) => Finding::good(subject, format!("accepts connections at {}", base(settings))),
        Ok(Answer::Stranger) => {
            Finding::unknown(subject, format!("another program has the address {}", settings.listen))
        }
        Err(_) => Finding::unknown(subject, format!("none at {}", base(settings))),
    }
}

/// What is behind an address.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// A server, with the status of its readiness.
    Status(u16),
    /// It accepts connections; over TLS nothing is asked.
    Encrypted,
    /// Something that speaks another protocol.
    Stranger,
}

/// Asks the server at the configured address whether it is ready.
fn ask(settings: &Settings) -> io::Result<Answer> {
    let mut address = settings.listen;
    if address.ip().is_unspecified() {
        let here =
            if address.is_ipv4() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { IpAddr::V6(Ipv6Addr::LOCALHOST) };
        address = SocketAddr::new(here, address.port());
    }
    let mut connection = TcpStream::connect_timeout(&address, PATIENCE)?;
    if settings.tls.cert.is_some() {
        return Ok(Answer::Encrypted);
    }
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let request = format!("GET /health/ready HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).ok();
    let mut response = Vec::new();
    connection.take(1024).read_to_end(&mut response).ok();
    let response = String::from_utf8_lossy(&response);
    let status = response.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    Ok(status.map_or(Answer::Stranger, Answer::Status))
}

fn base(settings: &Settings) -> String {
    let scheme = if settings.tls.cert.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", settings.listen)
}

/// The address is free, or a server is there that answers.
fn address(settings: &Settings) -> Finding {
    const SUBJECT: &str = "address";
    let answer = ask(settings);
    match &answer {
        Ok(Answer::Stranger) => Finding::fault(
            SUBJECT,
            format!("another program has {}", settings.listen),
            format!(
                "`ss -ltnp 'sport = :{}'` names it; --listen chooses another address",
                settings.listen.port()
            ),
        ),
        Ok(_) => told_of(SUBJECT, &answer, settings),
        Err(_) => match TcpListener::bind(settings.listen) {
            Ok(_) => Finding::good(SUBJECT, format!("{} is free; no server runs on it", settings.listen)),
            Err(error) => Finding::fault(
                SUBJECT,
                format!("{} cannot be used: {error}", settings.listen),
                "--listen chooses an address of this machine; ports below 1024 need CAP_NET_BIND_SERVICE",
            ),
        },
    }
}

fn open_files() -> Finding {
    const SUBJECT: &str = "open files";
    match getrlimit(Resource::Nofile).current {
        Some(most) if most < FILES => Finding::warning(
            SUBJECT,
            format!("a process may have {most}; each device that waits needs one"),
            "`ulimit -n 65536` before the start, or LimitNOFILE=65536 in the unit of systemd",
        ),
        Some(most) => Finding::good(SUBJECT, format!("a process may have {most}")),
        None => Finding::good(SUBJECT, "unlimited"),
    }
}

fn key(settings: &Settings) -> Finding {
    const SUBJECT: &str = "secret key";
    let path = settings.store.secret_key_file();
    let shown = path.display();
    match secret_key::load(&settings.store) {
        Err(error) => Finding::fault(SUBJECT, error.to_string(), "put the file of the last backup back"),
        Ok(None) if holds_database(&settings.store.data_dir) => Finding::fault(
            SUBJECT,
            format!("{shown} is missing, and the database needs it"),
            "put the file of the last backup back, or name it with --secret-key-file",
        ),
        Ok(None) => Finding::good(SUBJECT, format!("none yet; the first start creates {shown}")),
        Ok(Some(_)) => match fs::metadata(&path).map(|data| data.permissions().mode() & 0o777) {
            Ok(mode) if mode & 0o077 != 0 => Finding::warning(
                SUBJECT,
                format!("{shown} can be read by others (mode {mode:o})"),
                format!("chmod 600 {shown}"),
            ),
            _ => Finding::good(SUBJECT, shown.to_string()),
        },
    }
}

/// The disk of the private PostgreSQL; another one is on a machine that cannot be seen from here.
fn disk(settings: &Settings) -> Option<Finding> {
    const SUBJECT: &str = "disk";
    if settings.store.database_url.is_some() {
        return None;
    }
    let existing = settings.store.data_dir.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let free = match statvfs(existing) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => return Some(Finding::unknown(SUBJECT, format!("{}: {error}", existing.display()))),
    };
    let told = format!("{} are free for {}", ByteSize(free), settings.store.data_dir.display());
    let remedy =
        "free some: a retention rule deletes old data, `platform api GET /retention/runs` shows its runs";
    Some(match settings.store.least_free {
        least if free < least => Finding::fault(SUBJECT, format!("{told}; writes get 503"), remedy),
        least if free < least.saturating_mul(4) => Finding::warning(SUBJECT, told, remedy),
        _ => Finding::good(SUBJECT, told),
    })
}

fn certificate(settings: &Settings) -> Option<Finding> {
    const SUBJECT: &str = "certificate";
    let file = settings.tls.cert.as_ref().or(settings.tls.key.as_ref())?;
    let remedy = "renew it and replace both files; the server loads them within seconds";
    let expires = match tls::check(&settings.tls) {
        Ok(expires) => expires?,
        Err(why) => return Some(Finding::fault(SUBJECT, why, remedy)),
    };
    let day = humantime::format_rfc3339_seconds(expires).to_string();
    let told = format!("{} is valid until {}", file.display(), day.split('T').next().unwrap_or_default());
    let now = SystemTime::now();
    Some(if expires < now {
        Finding::fault(SUBJECT, told, remedy)
    } else if expires.duration_since(now).unwrap_or_default() < RENEWAL {
        Finding::warning(SUBJECT, told, remedy)
    } else {
        Finding::good(SUBJECT, told)
    })
}

/// `platform backup` needs pg_dump of the database's version, or a newer one.
fn backups(settings: &Settings) -> Option<Finding> {
    const SUBJECT: &str = "backup";
    let found = client_program("pg_dump", settings.store.postgres_bin_dir.as_deref(), OLDEST_POSTGRES);
    let error = found.err()?;
    Some(Finding::warning(SUBJECT, error.to_string(), "install the client programs of PostgreSQL"))
}

/// Returns the difference of two clocks in seconds, of which one is this machine's.
pub(super) fn seconds_ahead(of: SystemTime, here: SystemTime) -> f64 {
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    seconds(of) - seconds(here)
}
