//! The findings about the machine of the server: open files, secret key, risky settings, disk, certificate and backup
//! programs.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytesize::ByteSize;
use platform_front::config::Settings;
use platform_front::secrets::secret_key;
use platform_front::tls;
use rustix::fs::statvfs;

use super::Finding;
use crate::embedded_postgres::holds_database;
use crate::open_files::raise_limit;
use crate::settings_check;

/// The fewest open files that suffice for a fleet: each device with a held poll needs one.
const FILES: u64 = 8192;
/// The time before its expiry at which a certificate should have been renewed.
const RENEWAL: Duration = Duration::from_secs(14 * 24 * 3600);
/// The oldest version of PostgreSQL that is supported.
pub(super) const OLDEST_POSTGRES: u32 = 14;

/// Returns all findings about the machine.
pub(super) fn check(settings: &Settings) -> Vec<Finding> {
    let mut findings = vec![open_files(), key(settings)];
    let risks = settings_check::risks(settings).into_iter();
    findings.extend(risks.map(|risk| Finding::warning("settings", risk.told, risk.remedy)));
    findings.extend(disk(settings));
    findings.extend(certificate(settings));
    findings
}

fn open_files() -> Finding {
    const SUBJECT: &str = "open files";
    // The server raises its limit at the start in the same way.
    match raise_limit() {
        Some(most) if most < FILES => Finding::warning(
            SUBJECT,
            format!("a server may have {most}; each device that waits needs one"),
            "`ulimit -Hn 65536` as root before the start, or LimitNOFILE=65536 in the unit of systemd",
        ),
        Some(most) => Finding::good(SUBJECT, format!("a server may have {most}")),
        None => Finding::good(SUBJECT, "unlimited"),
    }
}

fn key(settings: &Settings) -> Finding {
    const SUBJECT: &str = "secret key";
    let path = settings.store.secret_key_file();
    let shown = path.display();
    match secret_key::load(&settings.store) {
        Err(error) if may_not_read(&path) => Finding::unknown(SUBJECT, error.to_string()),
        Err(error) => Finding::fault(SUBJECT, error.to_string(), "put the file of the last backup back"),
        Ok(None) => match holds_database(&settings.store.data_dir) {
            Ok(true) => Finding::fault(
                SUBJECT,
                format!("{shown} is missing, and the database needs it"),
                "put the file of the last backup back, or name it with --secret-key-file",
            ),
            Ok(false) => Finding::good(SUBJECT, format!("none yet; the first start creates {shown}")),
            Err(error) => Finding::unknown(SUBJECT, error.to_string()),
        },
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

/// Returns whether the rights of this user do not suffice to read a file.
fn may_not_read(path: &Path) -> bool {
    fs::File::open(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Checks the disk of the private PostgreSQL. The disk of an external PostgreSQL cannot be examined from this machine.
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

/// Returns by how many seconds the first clock is ahead of this machine's.
pub(super) fn seconds_ahead(of: SystemTime, here: SystemTime) -> f64 {
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    seconds(of) - seconds(here)
}
