//! Where the settings of a command are, if neither arguments nor variables name them.

use std::ffi::OsString;
use std::path::Path;

use clap::{Command, Error};
use platform_front::config::{ConfigFile, Environment, StoreSettings};

/// The directory of the data of a server that was started without any settings.
const DEFAULT_DATA: &str = "./platform-data";
/// The settings of the Debian package, with which its server runs.
const OF_PACKAGE: &str = "/etc/platform/platform.toml";

/// The commands that are about a server that exists. If nothing names its data, they use the settings of the package.
const ABOUT_A_SERVER: [&str; 7] = ["admin", "server", "status", "doctor", "config", "backup", "restore"];
/// The variables that name the data of a server.
const VARIABLES: [&str; 2] = ["PLATFORM_DATA_DIR", "PLATFORM_DATABASE_URL"];

/// The files that a command line means on this machine.
pub(super) struct Place<'p> {
    /// May replace a data directory that nobody has chosen.
    pub(super) relocate: &'p dyn Fn(&mut StoreSettings),
    /// The file of settings of the package.
    pub(super) package: &'p Path,
    /// The directory of the data of a server that was started without any settings.
    pub(super) data: &'p Path,
}

impl<'p> Place<'p> {
    pub(super) fn here(relocate: &'p dyn Fn(&mut StoreSettings)) -> Self {
        Self { relocate, package: Path::new(OF_PACKAGE), data: Path::new(DEFAULT_DATA) }
    }

    /// Returns a place without any files.
    pub(super) fn nowhere() -> Self {
        Self { relocate: &|_| {}, package: Path::new(""), data: Path::new("") }
    }

    /// Returns the file of settings that the arguments or the environment name, or that of the package.
    ///
    /// # Errors
    /// As [`ConfigFile::of`].
    pub(super) fn file(
        &self,
        arguments: &[OsString],
        environment: &Environment,
        described: &Command,
    ) -> Result<Option<ConfigFile>, Error> {
        match ConfigFile::of(arguments, environment, described) {
            Ok(None) => {
                let package = self.package_file(arguments, environment);
                package.map(|path| ConfigFile::read(path, described)).transpose()
            }
            named => named,
        }
    }

    /// Returns the file of settings of the package for a command about a server that nobody has named
    /// otherwise: neither
    /// by arguments, nor by variables, nor by data in the current directory.
    fn package_file(&self, arguments: &[OsString], environment: &Environment) -> Option<&Path> {
        let command = arguments.get(1)?.to_str()?;
        let names_data = |argument: &OsString| {
            let text = argument.to_string_lossy();
            ["--data-dir", "--database-url", "--secret-key-file"].iter().any(|flag| text.starts_with(flag))
        };
        let is_meant = ABOUT_A_SERVER.contains(&command)
            && !arguments.iter().any(names_data)
            && !VARIABLES.iter().any(|name| environment.contains_key(*name))
            && !self.data.exists();
        // A file that this user may not read is found, too; the error then names it.
        let is_there = || self.package.try_exists().unwrap_or(true) && !self.package.as_os_str().is_empty();
        (is_meant && is_there()).then_some(self.package)
    }
}
