//! `platform.toml`: settings in a file. Its keys are the names of flags; flags and variables override it.
//!
//! Settings of the file become environment variables unless the environment has them already, so that clap reads all
//! settings in one way.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use toml::de::DeTable;
use toml::{Table, Value};

use super::environment::{Environment, nearest, variable_of};

/// The flag and the variable that name the file.
const FLAG: &str = "--config";
const VARIABLE: &str = "PLATFORM_CONFIG";
/// The setting whose value contains a password only in some cases.
pub(super) const DATABASE_URL: &str = "database-url";
/// The settings whose values may be secret.
pub(super) const SECRETS: [&str; 3] = ["admin-password", "bootstrap-password", DATABASE_URL];

/// A parsed file of settings. Settings that are unknown, or whose values have a wrong type, are among the faults.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigFile {
    path: PathBuf,
    /// The settings by their variables.
    settings: BTreeMap<String, Setting>,
    /// The messages for the operator, with their lines, in the order of the lines.
    faults: Vec<(usize, String)>,
}

/// A setting of the file.
#[derive(Debug, PartialEq, Eq)]
struct Setting {
    key: String,
    value: OsString,
    /// The line of the key, beginning with 1.
    line: usize,
}

impl ConfigFile {
    /// Reads the file that the arguments or the environment name, if there is one. `table` contains all settings.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(
        arguments: &[OsString],
        environment: &Environment,
        table: &Command,
    ) -> Result<Option<Self>, Error> {
        let path = named_by(arguments).or_else(|| environment.get(VARIABLE).cloned());
        path.map(|path| Self::read(Path::new(&path), table)).transpose()
    }

    /// Reads a file. Its mistakes are among its [`faults`](Self::faults).
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path, table: &Command) -> Result<Self, Error> {
        let refused =
            |why: String| Error::raw(ErrorKind::ValueValidation, format!("{}: {why}\n", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let mut file = Self { path: path.to_owned(), settings: BTreeMap::new(), faults: Vec::new() };
        let (keys, errors) = DeTable::parse_recoverable(&text);
        for error in errors {
            let line = line_of(&text, error.span().unwrap_or_default().start);
            // The line itself is left out, because it may contain a password.
            file.faults.push((line, format!("this is not TOML: {}", error.message())));
        }
        let lines: BTreeMap<&str, usize> =
            keys.get_ref().keys().map(|key| (&**key.get_ref(), line_of(&text, key.span().start))).collect();
        let table_of_file = text.parse::<Table>().unwrap_or_else(|error| {
            if file.faults.is_empty() {
                file.faults.push((1, format!("this is not TOML: {}", error.message())));
            }
            Table::new()
        });
        for (key, value) in table_of_file {
            let line = lines.get(&*key).copied().unwrap_or(1);
            file.add(table, key, &value, line);
        }
        file.faults.sort();
        Ok(file)
    }

    /// Adds a setting, or a fault.
    fn add(&mut self, table: &Command, key: String, value: &Value, line: usize) {
        let known = || table.get_arguments().filter(|setting| setting.get_long() != FLAG.strip_prefix("--"));
        let setting = known().find(|setting| setting.get_long() == Some(&key)).and_then(variable_of);
        let Some(variable) = setting else {
            let flags = known().filter(|setting| variable_of(setting).is_some());
            let flags: Vec<_> = flags.filter_map(|setting| Some(setting.get_long()?.to_owned())).collect();
            let meant = nearest(&key, &flags).map(|meant| format!("; did you mean {meant}?"));
            self.faults.push((line, format!("unknown setting {key}{}", meant.unwrap_or_default())));
            return;
        };
        match text_of(value) {
            Some(text) => drop(self.settings.insert(variable, Setting { key, value: text.into(), line })),
            None => {
                let allowed = "a text, a number, true, false, or an array of these is required";
                self.faults.push((line, format!("{key}: {allowed}")));
            }
        }
    }

    /// Returns what is wrong in the file, apart from values: messages with path and line.
    pub fn faults(&self) -> impl Iterator<Item = String> {
        self.faults.iter().map(|(line, why)| format!("{}:{line}: {why}", self.path.display()))
    }

    /// Returns the environment plus the settings of the file that are not in the environment.
    pub fn behind(&self, environment: &Environment) -> Environment {
        let of_file =
            self.settings.iter().map(|(variable, setting)| (variable.clone(), setting.value.clone()));
        of_file.chain(environment.clone()).collect()
    }

    /// Returns the place of a setting, `<path>:<line>`, if the file has it.
    pub(super) fn place_of(&self, variable: &str) -> Option<String> {
        let setting = self.settings.get(variable)?;
        Some(format!("{}:{}", self.path.display(), setting.line))
    }

    /// Changes an error about a value of the file: it names the key, the file and the line instead of an environment
    /// variable that does not exist.
    pub fn in_our_words(&self, mut error: Error, environment: &Environment) -> Error {
        let Some(ContextValue::String(variable)) = error.get(ContextKind::InvalidArg) else { return error };
        if let Some(setting) = self.settings.get(variable)
            && !environment.contains_key(variable)
        {
            let place = format!("{} in {}:{}", setting.key, self.path.display(), setting.line);
            error.insert(ContextKind::InvalidArg, ContextValue::String(place));
        }
        error
    }

    /// Returns the settings of a file whose values contain a password; none if the file cannot be read.
    pub fn secrets_in(path: &Path) -> Vec<&'static str> {
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
    pub fn count(&self) -> usize {
        self.settings.len()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
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

/// Returns the number of the line of a byte, beginning with 1.
fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
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
