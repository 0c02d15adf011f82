//! `platform.toml`: settings in a file. Its keys are the names of flags; flags and variables override it.
//!
//! Settings of the file become environment variables unless the environment has them already, so that clap reads all
//! settings in one way.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use toml::{Table, Value};

use super::environment::{Environment, nearest, variable_of};

/// The flag and the variable that name the file.
const FLAG: &str = "--config";
const VARIABLE: &str = "PLATFORM_CONFIG";
/// The setting whose value contains a password only in some cases.
const DATABASE_URL: &str = "database-url";
/// The settings whose values may be secret.
pub(super) const SECRETS: [&str; 3] = ["admin-password", "bootstrap-password", DATABASE_URL];

/// A parsed file of settings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    /// The key and the value of each setting, by its variable.
    settings: BTreeMap<String, (String, OsString)>,
}

impl ConfigFile {
    /// Reads the file that the arguments or the environment name, if there is one. `table` contains all settings.
    ///
    /// # Errors
    /// The file cannot be read or is not TOML, or a key is not a setting, or a value has a wrong type.
    pub(crate) fn of(
        arguments: &[OsString],
        environment: &Environment,
        table: &Command,
    ) -> Result<Option<Self>, Error> {
        let path = named_by(arguments).or_else(|| environment.get(VARIABLE).cloned());
        path.map(|path| Self::read(Path::new(&path), table)).transpose()
    }

    pub(crate) fn read(path: &Path, table: &Command) -> Result<Self, Error> {
        let refused =
            |why: String| Error::raw(ErrorKind::ValueValidation, format!("{}: {why}\n", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let keys: Table = text.parse().map_err(|error: toml::de::Error| refused(error.to_string()))?;
        let known: Vec<(String, String)> = table
            .get_arguments()
            .filter_map(|setting| Some((setting.get_long()?.to_owned(), variable_of(setting)?)))
            .filter(|(flag, _)| format!("--{flag}") != FLAG)
            .collect();
        let mut settings = BTreeMap::new();
        for (key, value) in keys {
            let Some((_, variable)) = known.iter().find(|(flag, _)| *flag == key) else {
                let flags: Vec<_> = known.iter().map(|(flag, _)| flag.clone()).collect();
                let meant = nearest(&key, &flags).map(|meant| format!("; did you mean {meant}?"));
                return Err(refused(format!("unknown setting {key}{}", meant.unwrap_or_default())));
            };
            let text = text_of(&value).ok_or_else(|| {
                refused(format!("{key}: a text, a number, true, false, or an array of these is required"))
            })?;
            settings.insert(variable.clone(), (key, text.into()));
        }
        Ok(Self { path: path.to_owned(), settings })
    }

    /// Returns the environment plus the settings of the file that are not in the environment.
    pub(crate) fn behind(&self, environment: &Environment) -> Environment {
        let of_file = self.settings.iter().map(|(variable, (_, value))| (variable.clone(), value.clone()));
        of_file.chain(environment.clone()).collect()
    }

    /// Changes an error about a value of the file: it names the key and the file instead of an environment variable
    /// that does not exist.
    pub(crate) fn in_our_words(&self, mut error: Error, environment: &Environment) -> Error {
        let Some(ContextValue::String(variable)) = error.get(ContextKind::InvalidArg) else { return error };
        if let Some((key, _)) = self.settings.get(variable)
            && !environment.contains_key(variable)
        {
            let place = format!("{key} in {}", self.path.display());
            error.insert(ContextKind::InvalidArg, ContextValue::String(place));
        }
        error
    }

    /// Returns the settings of a file whose values contain a password; none if the file cannot be read.
    pub(crate) fn secrets_in(path: &Path) -> Vec<&'static str> {
        let keys: Table =
            std::fs::read_to_string(path).ok().and_then(|text| text.parse().ok()).unwrap_or_default();
        let is_secret = |name: &str, value: &Value| {
            name != DATABASE_URL
                || value.as_str().is_some_and(|url| platform_store::holds_password(url).unwrap_or(true))
        };
        SECRETS
            .into_iter()
            .filter(|name| keys.get(*name).is_some_and(|value| is_secret(name, value)))
            .collect()
    }

    /// Returns the number of settings.
    pub(crate) fn len(&self) -> usize {
        self.settings.len()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the value of `--config`. clap cannot be used for this, because it already needs the settings of the file.
fn named_by(arguments: &[OsString]) -> Option<OsString> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == FLAG {
            return arguments.next().cloned();
        }
        if let Some(path) = argument.to_str().and_then(|text| text.strip_prefix(FLAG)?.strip_prefix('=')) {
            return Some(path.into());
        }
    }
    None
}

/// Returns a value as an environment variable would contain it.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(value) => Some(value.to_string()),
        Value::Array(values) => {
            let texts: Option<Vec<_>> = values.iter().map(text_of).collect();
            Some(texts?.join(","))
        }
        Value::Datetime(_) | Value::Table(_) => None,
    }
}
