//! The settings as `platform config show` prints them: the value that counts, and where it comes from.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::environment::{Environment, variable_of};
use super::file::{ConfigFile, DATABASE_URL, SECRETS};

/// Where settings come from, besides the arguments.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'s> {
    /// The variables of the process.
    pub environment: &'s Environment,
    /// The file of settings.
    pub file: Option<&'s ConfigFile>,
    /// The variables, and behind them the settings of the file.
    pub merged: &'s Environment,
}

/// A setting with the value that a start would use.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ShownSetting {
    /// The name of its flag, without `--`.
    pub name: String,
    /// Its value as one may write it; `None` if nothing sets it. Passwords are `(hidden)`.
    pub value: Option<String>,
    /// Where the value comes from: the flag, the variable, `<file>:<line>`, or `default`.
    pub origin: String,
}

/// Returns every setting of a parsed command, in the order of the table.
pub fn shown(table: &Command, matches: &ArgMatches, sources: &Sources<'_>) -> Vec<ShownSetting> {
    let settings = table.get_arguments().filter_map(|setting| Some((setting, variable_of(setting)?)));
    settings.filter_map(|(setting, variable)| one(setting, &variable, matches, sources)).collect()
}

fn one(setting: &Arg, variable: &str, matches: &ArgMatches, sources: &Sources<'_>) -> Option<ShownSetting> {
    let (name, id) = (setting.get_long()?, setting.get_id().as_str());
    let values = matches.try_get_raw(id).ok()?;
    let value = values.map(|values| {
        let texts: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        texts.join(",")
    });
    let is_argument = matches.value_source(id) == Some(ValueSource::CommandLine);
    let of_file = || sources.file.and_then(|file| file.place_of(variable));
    let origin = match (is_argument, sources.environment.contains_key(variable)) {
        (true, _) => format!("--{name}"),
        (false, true) => variable.to_owned(),
        (false, false) => of_file().unwrap_or_else(|| "default".into()),
    };
    Some(ShownSetting { name: name.into(), value: value.map(|value| without_secrets(name, value)), origin })
}

/// Returns the value of a setting unless it may contain a password.
fn without_secrets(name: &str, value: String) -> String {
    let is_open = !SECRETS.contains(&name)
        || (name == DATABASE_URL && platform_store::holds_password(&value).is_ok_and(|holds| !holds));
    if is_open { value } else { "(hidden)".into() }
}
