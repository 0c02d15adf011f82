//! The environment as a source of settings. It is passed as an argument, so that tests can have their own.

use std::{collections::BTreeMap, ffi::OsString};

use clap::{
    Arg, Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// The prefix of all variables of this server.
const PREFIX: &str = "PLATFORM_";
/// The flags whose values are, or may contain, passwords.
const SECRETS: [&str; 4] = ["--password", "--admin-password", "--bootstrap-password", "--database-url"];

/// Environment variables by name, of this process or of a test.
pub type Environment = BTreeMap<String, OsString>;

/// Returns the command with `environment` as the source of its defaults, including all subcommands. The environment of
/// this process is not used.
pub fn with_environment(command: Command, environment: &Environment) -> Command {
    command
        .mut_args(|argument| match variable_of(&argument).and_then(|variable| environment.get(&variable)) {
            Some(value) => argument.env(None::<&str>).default_value(value),
            None => argument.env(None::<&str>),
        })
        .mut_subcommands(|subcommand| with_environment(subcommand, environment))
}

pub(super) fn variable_of(argument: &Arg) -> Option<String> {
    argument.get_env().map(|variable| variable.to_string_lossy().into_owned())
}

/// Rejects variables that have the prefix of settings but are unknown, because a misspelled setting must not be ignored
/// silently. `of_client` are the variables of the commands that speak to a server.
///
/// # Errors
/// `UnknownArgument` with every such variable and the setting with the most similar name.
pub fn refuse_unknown(command: &Command, environment: &Environment, of_client: &[&str]) -> Result<(), Error> {
    let of_client = of_client.iter().map(|&name| name.into());
    let known: Vec<_> = command.get_arguments().filter_map(variable_of).chain(of_client).collect();
    let complaints: Vec<_> = environment
        .keys()
        .filter(|name| name.starts_with(PREFIX) && !known.contains(name))
        .map(|name| match nearest(name, &known) {
            Some(meant) => format!("unknown environment variable {name}; did you mean {meant}?"),
            None => format!("unknown environment variable {name}"),
        })
        .collect();
    if complaints.is_empty() {
        return Ok(());
    }
    let message = format!("{}\n\n`platform --help` lists every setting\n", complaints.join("\n"));
    Err(Error::raw(ErrorKind::UnknownArgument, message))
}

/// Returns the known name that is so similar that it was probably meant.
pub(super) fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a String> {
    let distances = known.iter().map(|candidate| (strsim::levenshtein(name, candidate), candidate));
    distances.min().filter(|(distance, _)| *distance <= 1 + name.len() / 6).map(|(_, candidate)| candidate)
}

/// Returns clap's error about a value with the name of its variable. Secret values are omitted, because the message is
/// logged and displayed.
pub fn in_our_words(
    mut error: Error,
    table: &Command,
    environment: &Environment,
    arguments: &[OsString],
) -> Error {
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else { return error };
    // The flag has a form such as `--listen <ADDRESS:PORT>` or `--debug-errors[=<true|false>]`.
    let flag = named.split([' ', '[', '=']).next().unwrap_or_default().to_owned();
    if error.get(ContextKind::InvalidValue).is_some() && SECRETS.contains(&flag.as_str()) {
        error.insert(ContextKind::InvalidValue, ContextValue::String("(hidden)".into()));
    }
    let mut settings = table.get_arguments();
    let setting = settings.find(|setting| setting.get_long() == flag.strip_prefix("--"));
    let is_flag = |given: &OsString| given.to_string_lossy().split('=').next() == Some(&flag);
    if let Some(variable) =
        setting.and_then(variable_of).filter(|variable| environment.contains_key(variable))
        && !arguments.iter().any(is_flag)
    {
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_variable_is_refused_with_the_nearest_setting() {
        let command = Command::new("platform").arg(Arg::new("listen").long("listen").env("PLATFORM_LISTEN"));
        let environment = ["HOME", "PLATFORM_LISTEN", "PLATFORM_LISTNE", "PLATFORM_SOMETHING_ELSE"]
            .map(|name| (name.into(), "x".into()));

        let message = refuse_unknown(&command, &environment.into(), &[]).unwrap_err().to_string();

        assert!(message.contains("PLATFORM_LISTNE; did you mean PLATFORM_LISTEN?"), "{message}");
        assert!(message.contains("variable PLATFORM_SOMETHING_ELSE\n"), "{message}");
        assert!(!message.contains("HOME"), "{message}");
    }
}
