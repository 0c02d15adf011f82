//! Parses a load. The table of a file becomes the command line of a scenario, so that both have the same settings,
//! defaults and limits.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use toml::{Spanned, Value};

use super::{LoadTable, Source};
use crate::cli::{Arguments, Common, Scenario};
use crate::error::Error;

/// The settings of all scenarios that a load may set; the others belong to the whole run.
const COMMON_KEYS: [&str; 5] = ["connecting", "settle", "drain", "keep", "post-header"];
const SCENARIO: &str = "scenario";

/// A scenario with its settings.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) arguments: Arguments,
    /// The name of the scenario and its description.
    pub(super) scenario: String,
    pub(super) about: String,
    /// The settings in the file; the others have their defaults.
    pub(super) settings: Vec<Setting>,
    /// The seconds of its schedule, if it has one.
    pub(super) seconds: Option<u64>,
}

/// A setting that the file names.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) meaning: String,
    /// The position of the setting in the file.
    at: usize,
}

impl Load {
    /// Reads a load.
    ///
    /// # Errors
    /// An unknown scenario or key, or an invalid value.
    pub(super) fn of(
        source: &Source<'_>,
        table: &Spanned<LoadTable>,
        common: &Common,
    ) -> Result<Self, Error> {
        let start = table.span().start;
        let program = Arguments::command();
        let command = scenario_of(source, table, &program)?;
        let mut words = vec!["loadtest".to_owned(), command.get_name().to_owned()];
        let mut settings = Vec::new();
        for (key, value) in table.get_ref().iter().filter(|(key, _)| key.get_ref() != SCENARIO) {
            let at = key.span().start;
            let argument = argument_of(command, &program, key.get_ref())
                .ok_or_else(|| source.error(at, &unknown_key(key.get_ref(), command)))?;
            let text = text_of(value.get_ref()).ok_or_else(|| {
                source.error(
                    at,
                    &format!("{} must be a text, a number, true or false, or a list of these", key.get_ref()),
                )
            })?;
            words.extend(
                word_of(argument, key.get_ref(), value.get_ref(), &text)
                    .map_err(|reason| source.error(at, &reason))?,
            );
            let meaning = argument.get_help().map(ToString::to_string).unwrap_or_default();
            settings.push(Setting { key: key.get_ref().clone(), value: text, meaning, at });
        }
        let refused = |error: clap::Error| {
            let key = key_of(&error);
            let at = settings.iter().find(|setting| Some(setting.key.as_str()) == key.as_deref());
            source.error(at.map_or(start, |setting| setting.at), &reason_of(&error))
        };
        let matches = program.clone().try_get_matches_from(words).map_err(refused)?;
        let mut arguments = Arguments::from_arg_matches(&matches).map_err(refused)?;
        arguments.common = merged(common, arguments.common, &settings);
        Ok(Self {
            arguments,
            scenario: command.get_name().to_owned(),
            about: command.get_about().map(ToString::to_string).unwrap_or_default(),
            seconds: matches.subcommand().and_then(|(_, matches)| scheduled_seconds(matches)),
            settings,
        })
    }

    /// Returns whether the load uses the target of the command line; other loads start their own servers.
    pub(super) fn uses_target(&self) -> bool {
        !matches!(
            self.arguments.scenario,
            Scenario::Durability(_) | Scenario::InventoryFill(_) | Scenario::DataFill(_)
        )
    }
}

/// Returns the sum of `--seconds` and `--warmup`, set or by default.
fn scheduled_seconds(matches: &ArgMatches) -> Option<u64> {
    let seconds = |id| matches.try_get_one::<u64>(id).ok().flatten().copied();
    Some(seconds("seconds")? + seconds("warmup").unwrap_or_default())
}

fn scenario_of<'a>(
    source: &Source<'_>,
    table: &Spanned<LoadTable>,
    program: &'a Command,
) -> Result<&'a Command, Error> {
    let names = || program.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ");
    let Some((key, value)) = table.get_ref().iter().find(|(key, _)| key.get_ref() == SCENARIO) else {
        return Err(source.error(table.span().start, &format!("a load needs a scenario: one of {}", names())));
    };
    let found = value.get_ref().as_str().and_then(|name| program.find_subcommand(name));
    found.ok_or_else(|| {
        let found = text_of(value.get_ref()).unwrap_or_default();
        let message = format!("scenario = {found:?} is not a scenario; it is one of {}", names());
        source.error(key.span().start, &message)
    })
}

fn argument_of<'a>(command: &'a Command, program: &'a Command, key: &str) -> Option<&'a Arg> {
    let is_meant = |argument: &&Arg| argument.get_long() == Some(key);
    let common = || program.get_arguments().filter(|_| COMMON_KEYS.contains(&key)).find(is_meant);
    command
        .get_arguments()
        .filter(|argument| argument.get_long() != Some("help"))
        .find(is_meant)
        .or_else(common)
}

fn unknown_key(key: &str, command: &Command) -> String {
    let own =
        command.get_arguments().filter_map(Arg::get_long).filter(|long| !["help", "version"].contains(long));
    let allowed: Vec<&str> = own.chain(COMMON_KEYS).collect();
    format!("{key} is not a setting of {}; it has {}", command.get_name(), allowed.join(", "))
}

/// Returns a value as a text of the command line.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(is_set) => Some(is_set.to_string()),
        Value::Array(values) => Some(values.iter().map(text_of).collect::<Option<Vec<_>>>()?.join(",")),
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

/// Returns the argument of the command line for a setting, or `None` for a flag that is false.
fn word_of(argument: &Arg, key: &str, value: &Value, text: &str) -> Result<Option<String>, String> {
    match (argument.get_action().takes_values(), value) {
        (false, Value::Boolean(is_set)) => Ok(is_set.then(|| format!("--{key}"))),
        (false, _) => Err(format!("{key} = {text}: allowed are true and false")),
        (true, _) => Ok(Some(format!("--{key}={text}"))),
    }
}

/// Returns the key that an error refers to.
fn key_of(error: &clap::Error) -> Option<String> {
    let argument = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(argument) => argument,
        ContextValue::Strings(arguments) => arguments.first()?,
        _ => return None,
    };
    Some(argument.trim_start_matches("--").split([' ', '=']).next()?.to_owned())
}

/// Returns the reason why a command line was rejected, as one line.
fn reason_of(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

/// Returns the settings of the command line, overridden by those that the load sets.
fn merged(common: &Common, of_load: Common, settings: &[Setting]) -> Common {
    let is_set = |key: &str| settings.iter().any(|setting| setting.key == key);
    let mut merged = common.clone();
    if is_set("connecting") {
        merged.connecting = of_load.connecting;
    }
    if is_set("settle") {
        merged.settle = of_load.settle;
    }
    if is_set("drain") {
        merged.drain = of_load.drain;
    }
    if is_set("keep") {
        merged.keep = of_load.keep;
    }
    if is_set("post-header") {
        merged.post_header = of_load.post_header;
    }
    merged
}
