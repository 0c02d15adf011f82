//! Profiles: servers and credentials that `platform login` stores in `platform/profiles.json` of the user's
//! configuration directory (XDG). Only the user can read the file.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use platform_front::terminal::say;
use serde::{Deserialize, Serialize};

use super::failure::{Code, Failure};
use super::words::Words;

/// The environment variables that override profiles, for scripts that do not log in.
pub(crate) const VARIABLES: [&str; 5] = [PROFILE, URL, USER, PASSWORD, AUTHORITIES];
pub(crate) const PROFILE: &str = "PLATFORM_PROFILE";
const URL: &str = "PLATFORM_URL";
const USER: &str = "PLATFORM_USER";
const PASSWORD: &str = "PLATFORM_PASSWORD";
const AUTHORITIES: &str = "PLATFORM_CA";
/// The name of a profile when a log-in gives none.
pub(crate) const DEFAULT: &str = "default";

/// A server and the credentials of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Profile {
    pub(crate) url: String,
    /// The name of the user, or `tenant/name`.
    pub(crate) user: String,
    #[serde(flatten)]
    pub(crate) credentials: Credentials,
    /// The vendor words of the server, as its API reference had them at the log-in.
    #[serde(default)]
    pub(crate) words: Words,
    /// The file with the certificates of the authorities that are trusted instead of those of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authorities: Option<PathBuf>,
}

/// The credentials of a user; the file has a member for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Credentials {
    Password(String),
    /// An access token that the server issued for a log-in with the identity provider (C-34).
    Token(String),
    /// An access token that the server issued for a password with a code of the second factor (C-27).
    TokenOfCode(String),
}

/// All stored profiles.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Profiles {
    /// The name of the profile that commands use unless they name another one.
    pub(crate) current: Option<String>,
    pub(crate) profiles: BTreeMap<String, Profile>,
}

/// Returns the profile for a command: from the environment variables, the given one, or the current one.
///
/// # Errors
/// There is no such profile, or no profile at all, or the file cannot be read.
pub(crate) fn choose(named: Option<&str>) -> Result<Profile, Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let (None, Some(url)) = (named, variable(URL)) {
        let missing = |name: &str| Failure::usage(format!("{URL} is set, but {name} is not"));
        return Ok(Profile {
            url: checked_url(&url)?,
            user: variable(USER).ok_or_else(|| missing(USER))?,
            credentials: Credentials::Password(variable(PASSWORD).ok_or_else(|| missing(PASSWORD))?),
            words: Words::of_variables(),
            authorities: variable(AUTHORITIES).map(PathBuf::from),
        });
    }
    let mut stored = Profiles::load()?;
    let current = stored.current.clone();
    let Some(name) = named.map(Into::into).or_else(|| variable(PROFILE)).or(current) else {
        return Err(stored.without_current());
    };
    stored
        .profiles
        .remove(&name)
        .ok_or_else(|| Failure::usage(format!("there is no profile {name:?}; known are: {}", stored.names())))
}

impl Profile {
    /// Returns the command that logs in with the same credentials.
    pub(super) fn log_in(&self) -> String {
        let Self { url, user, .. } = self;
        match self.credentials {
            Credentials::Token(_) => format!("platform login {url} --sso"),
            Credentials::Password(_) | Credentials::TokenOfCode(_) => {
                format!("platform login {url} --user {user}")
            }
        }
    }
}

/// Checks the address of a server and returns it without a trailing slash.
///
/// # Errors
/// It is not an `http://` or `https://` address of a host and a port.
pub(crate) fn checked_url(url: &str) -> Result<String, Failure> {
    let refused = |why: &str| Failure::usage(format!("{url:?} is not the address of a server: {why}"));
    let parsed: hyper::Uri = url.parse().map_err(|_| refused("it must have the form http://host:port"))?;
    if !matches!(parsed.scheme_str(), Some("http" | "https")) {
        return Err(refused("it must begin with http:// or https://"));
    }
    if parsed.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return Err(refused("a user is given by --user"));
    }
    if parsed.path() != "/" || parsed.query().is_some() {
        return Err(refused("it must end after the host and the port"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

impl Profiles {
    /// Reads the stored profiles. Before the first log-in there are none.
    ///
    /// # Errors
    /// The file cannot be read or parsed.
    pub(crate) fn load() -> Result<Self, Failure> {
        let path = path()?;
        if fs::metadata(&path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0) {
            let path = path.display();
            say(format_args!("warning: others can read the passwords in {path}; chmod 600 {path} ends that"));
        }
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| unusable(&path, &error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(unusable(&path, &error)),
        }
    }

    fn names(&self) -> String {
        self.profiles.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// Returns the failure of a command for which no profile is chosen.
    fn without_current(&self) -> Failure {
        if self.profiles.is_empty() {
            return Failure::new(Code::Denied, "no server is known yet").hint(
                "`platform login http://127.0.0.1:8080` stores one; scripts set PLATFORM_URL, _USER, _PASSWORD",
            );
        }
        Failure::new(Code::Denied, format!("no profile is the current one; known are: {}", self.names()))
            .hint("`platform profile use NAME` chooses one")
    }

    /// Replaces the stored profiles. The file has mode 600, and readers never see a half-written one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn store(&self) -> Result<PathBuf, Failure> {
        let path = path()?;
        self.write(&path).map_err(|error| unusable(&path, &error))?;
        Ok(path)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let mut file: File = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = serde_json::to_writer_pretty(&mut file, self).map_err(io::Error::from);
        let done = written.and_then(|()| file.write_all(b"\n")).and_then(|()| fs::rename(&new, path));
        if done.is_err() {
            fs::remove_file(&new).ok();
        }
        done
    }
}

fn path() -> Result<PathBuf, Failure> {
    let directory =
        |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    // XDG says that a relative XDG_CONFIG_HOME is invalid and must be ignored.
    let configured = directory("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let configured = configured.or_else(|| Some(directory("HOME")?.join(".config")));
    let configured =
        configured.ok_or_else(|| Failure::new(Code::Failed, "neither XDG_CONFIG_HOME nor HOME is set"))?;
    Ok(configured.join("platform").join("profiles.json"))
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Code::Failed, format!("{}: {error}", path.display()))
}
