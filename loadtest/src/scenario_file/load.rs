//! Parses a load. The table of a file becomes the command line of a scenario, so that both have the same settings,
//! defaults and limits.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::fields::Found;
use super::mistakes::Mistakes;
use crate::cli::{Arguments, Common, Scenario};

/// The settings of all scenarios that a load may set; the others belong to the whole run.
const COMMON_KEYS: [&str; 5] = ["connecting", "settle", "drain", "keep", "post-header"];
const SCENARIO: &str = "scenario";

/// A key with its position.
type Key<'t> = Spanned<DeString<'t>>;

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
    /// The argument of the command line; none for a flag that is false.
    word: Option<String>,
    /// The position of the setting in the file.
    at: usize,
}

impl Load {
    /// Reads a load; nothing if it has a mistake: an unknown scenario or key, or an invalid value.
    pub(super) fn of(
        mistakes: &Mistakes<'_>,
        at: usize,
        table: &DeTable<'_>,
        common: &Common,
    ) -> Option<Self> {
        let before = mistakes.count();
        let program = Arguments::command();
        let command = scenario_of(mistakes, at, table, &program)?;
        let start = ["loadtest".to_owned(), command.get_name().to_owned()];
        let settings = settings(mistakes, table, command, &program);
        let refuse = |error: &clap::Error| {
            let key = key_of(error);
            let of = settings.iter().find(|setting| Some(setting.key.as_str()) == key.as_deref());
            mistakes.add(of.map_or(at, |setting| setting.at), reason_of(error));
        };
        // Each value is parsed alone first, because the command line reports only one mistake.
        for setting in &settings {
            let words = start.iter().chain(&setting.word);
            if let Err(error) = program.clone().try_get_matches_from(words)
                && matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation)
            {
                refuse(&error);
            }
        }
        if mistakes.count() > before {
            return None;
        }
        let words = start.iter().chain(settings.iter().flat_map(|setting| &setting.word));
        let matches = program.clone().try_get_matches_from(words).map_err(|error| refuse(&error)).ok()?;
        let mut arguments = Arguments::from_arg_matches(&matches).map_err(|error| refuse(&error)).ok()?;
        arguments.common = merged(common, arguments.common, &settings);
        Some(Self {
            arguments,
            scenario: command.get_name().to_owned(),
            about: command.get_about().map(ToString::to_string).unwrap_or_default(),
            seconds: matches.subcommand().and_then(|(_, matches)| scheduled_seconds(matches)),
            settings,
        })
    }

    /// Returns whether the load uses the target of the command line; other loads start their own servers.
    pub(super) fn uses_target(&self) -> bool {
        !matches!(self.arguments.scenario, Scenario::InventoryFill(_) | Scenario::DataFill(_))
    }
}

/// Returns the sum of `--seconds` and `--warmup`, set or by default.
fn scheduled_seconds(matches: &ArgMatches) -> Option<u64> {
    let seconds = |id| matches.try_get_one::<u64>(id).ok().flatten().copied();
    Some(seconds("seconds")? + seconds("warmup").unwrap_or_default())
}

/// Reads the settings of a load.
fn settings(
    mistakes: &Mistakes<'_>,
    table: &DeTable<'_>,
    command: &Command,
    program: &Command,
) -> Vec<Setting> {
    let setting = |(key, value): (&Key<'_>, &Found<'_>)| {
        let at = key.span().start;
        let key = key.get_ref().as_ref();
        let read = || {
            let argument = argument_of(command, program, key).ok_or_else(|| unknown_key(key, command))?;
            let text = text_of(value.get_ref()).ok_or_else(|| {
                format!("{key} must be a text, a number, true or false, or a list of these")
            })?;
            let word = word_of(argument, key, value.get_ref(), &text)?;
            let meaning = argument.get_help().map(ToString::to_string).unwrap_or_default();
            Ok::<_, String>(Setting { key: key.to_owned(), value: text, meaning, word, at })
        };
        read().map_err(|reason| mistakes.add(at, reason)).ok()
    };
    table.iter().filter(|(key, _)| key.get_ref() != SCENARIO).filter_map(setting).collect()
}

fn scenario_of<'a>(
    mistakes: &Mistakes<'_>,
    at: usize,
    table: &DeTable<'_>,
    program: &'a Command,
) -> Option<&'a Command> {
    let names = || program.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ");
    let Some(value) = table.get(SCENARIO) else {
        mistakes.add_lacking(at, format!("a load needs a scenario: one of {}", names()));
        return None;
    };
    let found = value.get_ref().as_str().and_then(|name| program.find_subcommand(name));
    if found.is_none() {
        let found = text_of(value.get_ref()).unwrap_or_default();
        let message = format!("scenario = {found:?} is not a scenario; it is one of {}", names());
        mistakes.add(value.span().start, message);
    }
    found
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
fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(is_set) => Some(is_set.to_string()),
        DeValue::Array(all) => {
            let all: Option<Vec<_>> = all.iter().map(|one| text_of(one.get_ref())).collect();
            Some(all?.join(","))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

/// Returns the argument of the command line for a setting, or `None` for a flag that is false.
fn word_of(argument: &Arg, key: &str, value: &DeValue<'_>, text: &str) -> Result<Option<String>, String> {
    match (argument.get_action().takes_values(), value) {
        (false, DeValue::Boolean(is_set)) => Ok(is_set.then(|| format!("--{key}"))),
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
