//! The owners and modes of the server's files. The secret key is among the findings of [`machine`](super::machine).

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use platform_front::config::Settings;
use rustix::process::geteuid;

use super::Finding;

const SUBJECT: &str = "files";
/// The names of the settings that contain passwords.
const SECRETS: [&str; 3] = ["database-url", "admin-password", "bootstrap-password"];

/// Returns a finding for each file with a wrong owner or mode, or a single good finding.
pub(super) fn check(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let data = &settings.store.data_dir;
    if let Ok(found) = fs::metadata(data) {
        findings.extend(strangers_may_write(data, &found));
        findings.extend(of_another_user(data, &found));
        findings.extend(owners_differ(data, &found, &settings.store.secret_key_file()));
    }
    for path in private_files(settings) {
        if let Ok(found) = fs::metadata(&path) {
            findings.extend(strangers_may_read(&path, &found));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::good(SUBJECT, "owners and modes are as they should be"));
    }
    findings
}

/// Returns the files that only their owner may read: the private key for HTTPS, the private key for connections to
/// PostgreSQL, and a settings file that contains secrets.
fn private_files(settings: &Settings) -> Vec<PathBuf> {
    let with_secrets = settings.store.config.iter().filter(|path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| SECRETS.iter().any(|secret| line.trim_start().starts_with(secret)))
    });
    settings.tls.key.iter().chain(with_secrets).cloned().collect()
}

fn strangers_may_read(path: &Path, found: &Metadata) -> Option<Finding> {
    let (shown, mode) = (path.display(), found.permissions().mode() & 0o777);
    (mode & 0o007 != 0).then(|| {
        Finding::warning(
            SUBJECT,
            format!("{shown} holds secrets, and every user of the machine can read it (mode {mode:o})"),
            format!("chmod o-rwx {shown}"),
        )
    })
}

fn strangers_may_write(data: &Path, found: &Metadata) -> Option<Finding> {
    let (shown, mode) = (data.display(), found.permissions().mode() & 0o777);
    (mode & 0o022 != 0).then(|| {
        Finding::fault(
            SUBJECT,
            format!("others may write to the data directory {shown} (mode {mode:o})"),
            format!("chmod go-w {shown}"),
        )
    })
}

/// Returns a fault if this command runs as another user than the server: neither can then use the files of the other.
/// Root can use everything.
fn of_another_user(data: &Path, found: &Metadata) -> Option<Finding> {
    let user = geteuid();
    (!user.is_root() && user.as_raw() != found.uid()).then(|| {
        Finding::warning(
            SUBJECT,
            format!(
                "{} belongs to the user {}, and this command runs as {}",
                data.display(),
                found.uid(),
                user.as_raw()
            ),
            "run it as the user of the server: `runuser -u platform -- platform doctor …`",
        )
    })
}

/// Returns a fault if the secret key and the data directory have different owners: the server, which runs as the owner
/// of the directory, could not read the key.
fn owners_differ(data: &Path, found: &Metadata, key: &Path) -> Option<Finding> {
    let owner = fs::metadata(key).ok()?.uid();
    (owner != found.uid()).then(|| {
        Finding::fault(
            SUBJECT,
            format!(
                "{} belongs to the user {owner}, and the data directory to {}",
                key.display(),
                found.uid()
            ),
            format!("chown --reference={} {}", data.display(), key.display()),
        )
    })
}
