//! Finds the programs of PostgreSQL and selects one of several installed versions.

use std::{
    collections::{BTreeSet, HashSet},
    fmt, fs,
    path::{Path, PathBuf},
};

use super::{
    StartError,
    account::{Account, command},
};

/// The oldest major version that supports the SQL of the platform.
const OLDEST: u32 = 14;

/// The programs that are needed; some packages contain only one of them.
const PROGRAMS: [&str; 2] = ["initdb", "postgres"];

/// The directories outside PATH in which systems install PostgreSQL; `*` matches a part of one path component.
const USUAL_PLACES: [&str; 7] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/lib/postgresql*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
];

/// A version of PostgreSQL, in the order of the releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: u32,
    pub(super) minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// Parses `postgres (PostgreSQL) 15.18 (Debian …)`. A minor version that is not a number (`17beta1`) counts as 0.
    fn parse(text: &str) -> Option<Self> {
        let number = text.split_once("(PostgreSQL)")?.1.split_whitespace().next()?;
        let mut parts = number.split(|c: char| !c.is_ascii_digit());
        let major = parts.next()?.parse().ok()?;
        let minor = number.split_once('.').and_then(|(_, minor)| minor.parse().ok()).unwrap_or(0);
        Some(Self { major, minor })
    }
}

/// An installation of PostgreSQL.
#[derive(Debug, Clone)]
pub(super) struct Binaries {
    pub(super) directory: PathBuf,
    pub(super) version: Version,
}

impl Binaries {
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Selects the version that can read data of major version `data`, or the newest one for a first start. If the
    /// operator named a directory, no other one is selected.
    ///
    /// # Errors
    /// `UnusableBinDir`, `NotFound`, or `OtherVersion` when no version fits the data in `cluster`.
    pub(super) fn choose(
        bin_dir: Option<&Path>,
        data: Option<u32>,
        cluster: &Path,
        account: Option<&Account>,
    ) -> Result<Self, StartError> {
        let mut rejected = Vec::new();
        let mut found = Vec::new();
        // The path must be absolute, because the programs are started with another working directory.
        let named = bin_dir.map(|directory| std::path::absolute(directory).unwrap_or(directory.into()));
        for directory in named.map_or_else(places, |directory| vec![directory]) {
            match probe(directory, account) {
                Ok(binaries) => found.push(binaries),
                Err(reason) if bin_dir.is_some() => return Err(StartError::UnusableBinDir { reason }),
                Err(reason) => rejected.push(reason),
            }
        }
        if found.is_empty() {
            return Err(StartError::NotFound { rejected });
        }
        newest(&found, data).cloned().ok_or_else(|| StartError::OtherVersion {
            directory: cluster.into(),
            data: data.unwrap_or_default(),
            installed: versions(&found),
        })
    }
}

/// Checks that a directory has usable programs of PostgreSQL (`--postgres-bin-dir`).
///
/// # Errors
/// `UnusableBinDir` as for a start.
pub fn check_bin_dir(directory: &Path) -> Result<(), StartError> {
    Binaries::choose(Some(directory), None, directory, None).map(drop)
}

/// Returns a client program of PostgreSQL, such as pg_dump, for a server of major version `server`: of the same
/// version, or else of the next newer one, because an older program refuses the server.
///
/// # Errors
/// `NoProgram` when there is none.
pub fn client_program(
    name: &'static str,
    bin_dir: Option<&Path>,
    server: u32,
) -> Result<PathBuf, StartError> {
    let directories = bin_dir.map_or_else(|| places_of(&[name]), |directory| vec![directory.into()]);
    let found = directories.into_iter().filter_map(|directory| {
        let path = std::path::absolute(directory.join(name)).ok()?;
        let output = command(&path, None).arg("--version").output().ok()?;
        Some((Version::parse(&String::from_utf8_lossy(&output.stdout))?, path))
    });
    let usable = found.filter(|(version, _)| version.major >= server);
    let best = usable.min_by_key(|(version, _)| version.major);
    best.map(|(_, path)| path).ok_or(StartError::NoProgram { name, server })
}

/// Returns the distinct versions, in ascending order.
fn versions(found: &[Binaries]) -> String {
    let versions: BTreeSet<_> = found.iter().map(|one| one.version).collect();
    versions.iter().map(Version::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the newest installation, and the first one among equal versions, so that PATH takes precedence over the
/// usual directories.
fn newest(found: &[Binaries], data: Option<u32>) -> Option<&Binaries> {
    found
        .iter()
        .filter(|one| data.is_none_or(|major| one.version.major == major))
        .reduce(|best, one| if one.version > best.version { one } else { best })
}

/// Returns every directory that contains a program of PostgreSQL: those of PATH, then the usual ones.
fn places() -> Vec<PathBuf> {
    places_of(&PROGRAMS)
}

/// Returns every directory that contains one of these programs: those of PATH, then the usual ones.
fn places_of(programs: &[&str]) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    let usual = USUAL_PLACES.iter().flat_map(|pattern| matching(pattern));
    let mut seen = HashSet::new();
    on_path
        .chain(usual)
        .filter(|directory| programs.iter().any(|name| directory.join(name).is_file()))
        // PATH often contains a usual directory, and a directory may have several names.
        .filter(|directory| seen.insert(fs::canonicalize(directory).unwrap_or_else(|_| directory.clone())))
        .collect()
}

/// Returns the directories that match a pattern with one `*` in one of its components.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort_unstable();
    names.iter().map(|name| format!("{parent}/{name}{after}").into()).collect()
}

/// Checks the installation in `directory`, and returns it or the reason why it cannot be used.
///
/// The version is queried under the account that will run PostgreSQL, because programs that this account cannot reach
/// are of no use.
fn probe(directory: PathBuf, account: Option<&Account>) -> Result<Binaries, String> {
    let here = directory.display();
    if let Some(missing) = PROGRAMS.iter().find(|name| !directory.join(name).is_file()) {
        return Err(format!("{here} holds no {missing}"));
    }
    let output = command(&directory.join("postgres"), account)
        .arg("--version")
        .output()
        .map_err(|error| format!("{here}/postgres cannot be run: {error}"))?;
    match Version::parse(&String::from_utf8_lossy(&output.stdout)) {
        Some(version) if version.major >= OLDEST => Ok(Binaries { directory, version }),
        Some(version) => Err(format!("{here} is PostgreSQL {version}, {OLDEST} or newer is needed")),
        None => Err(format!("{here}/postgres --version does not name a version")),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Creates a directory whose `postgres` reports `version`.
    fn installed(version: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let text = directory.path().join("text");
        fs::write(&text, format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")).unwrap();
        for program in PROGRAMS {
            // Another process writes it: a test that forks meanwhile would inherit a file that this process has open
            // for writing, and the system would not run it.
            let mut install = Command::new("install");
            install.args(["-m", "755"]).arg(&text).arg(directory.path().join(program));
            assert!(install.status().unwrap().success(), "{install:?}");
        }
        directory
    }

    fn choose(directory: &Path, data: Option<u32>) -> Result<Binaries, StartError> {
        Binaries::choose(Some(directory), data, Path::new("/data/postgres"), None)
    }

    #[test]
    fn version_is_read_from_what_postgres_says() {
        let read = |text| Version::parse(text).map(|version| (version.major, version.minor));

        assert_eq!(read("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some((15, 18)));
        assert_eq!(read("postgres (PostgreSQL) 17beta1"), Some((17, 0)));
        assert_eq!(read("postgres (PostgreSQL) 9.6.24"), Some((9, 0)));
        assert_eq!(read("no database"), None);
    }

    #[test]
    fn newest_version_is_taken_and_the_matching_one_for_existing_data() {
        let version = |major, minor| Version { major, minor };
        let at = |directory: &str, version| Binaries { directory: directory.into(), version };
        let found = [at("/a", version(15, 4)), at("/b", version(17, 1)), at("/c", version(17, 1))];

        assert_eq!(newest(&found, None).unwrap().directory, Path::new("/b"));
        assert_eq!(newest(&found, Some(15)).unwrap().directory, Path::new("/a"));
        assert!(newest(&found, Some(16)).is_none());
        assert_eq!(versions(&found), "15.4, 17.1", "each once");
    }

    #[test]
    fn named_directory_must_hold_both_programs() {
        let directory = installed("16.2");
        fs::remove_file(directory.path().join("initdb")).unwrap();

        let refused = choose(directory.path(), None).unwrap_err();

        assert!(
            matches!(&refused, StartError::UnusableBinDir { reason } if reason.ends_with("holds no initdb"))
        );
    }

    #[test]
    fn version_13_is_refused() {
        let refused = choose(installed("13.9").path(), None).unwrap_err();

        assert!(refused.to_string().contains("14 or newer"), "{refused}");
    }

    #[test]
    fn data_of_another_major_version_needs_pg_upgrade() {
        let refused = choose(installed("16.2").path(), Some(15)).unwrap_err();

        assert!(refused.to_string().contains("pg_upgrade"), "{refused}");
        assert_eq!(
            choose(installed("16.2").path(), Some(16)).unwrap().version,
            Version { major: 16, minor: 2 }
        );
    }

    #[test]
    fn missing_postgres_names_the_install_lines() {
        let message = StartError::NotFound { rejected: vec!["/old is PostgreSQL 12.1".into()] }.to_string();

        for line in
            ["apt-get install postgresql", "dnf install postgresql-server", "brew install postgresql@17"]
        {
            assert!(message.contains(line), "{message}");
        }
    }
}
