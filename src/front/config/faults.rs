//! All faults of the settings at once, so that an operator mends them in one go.

use clap::error::ErrorKind;
use clap::{Command, Error};

use super::environment::{Environment, in_our_words, refuse_unknown, variable_of, with_environment};
use super::shown::Sources;

/// Returns one error with every fault of the file and of the environment, or `first` if there is no other fault than
/// that. `of_client` are the variables of the commands that speak to a server.
pub fn with_all_faults(
    first: Option<Error>,
    table: &Command,
    sources: &Sources<'_>,
    of_client: &[&str],
) -> Option<Error> {
    let mut faults: Vec<String> = sources.file.iter().flat_map(|file| file.faults()).collect();
    faults.extend(sources.merged.keys().filter_map(|variable| fault_of(variable, table, sources)));
    if let Err(unknown) = refuse_unknown(table, sources.merged, of_client) {
        faults.push(text_of(&unknown));
    }
    match first {
        Some(first) => {
            let text = text_of(&first);
            if faults.iter().all(|fault| *fault == text) {
                return Some(first);
            }
            if !faults.contains(&text) {
                faults.push(text);
            }
        }
        None if faults.is_empty() => return None,
        None => {}
    }
    Some(Error::raw(ErrorKind::ValueValidation, format!("{}\n", faults.join("\nerror: "))))
}

/// Returns what is wrong with the value of one variable, or of the setting in the file that stands for it.
fn fault_of(variable: &str, table: &Command, sources: &Sources<'_>) -> Option<String> {
    let is_setting = table.get_arguments().any(|setting| variable_of(setting).as_deref() == Some(variable));
    let value = sources.merged.get(variable).filter(|_| is_setting)?;
    let alone = Environment::from([(variable.to_owned(), value.clone())]);
    let settings =
        Command::new("platform").args(table.get_arguments().filter(|one| variable_of(one).is_some()));
    let mut command = with_environment(settings, &alone);
    let error = command.try_get_matches_from_mut(["platform"]).err()?;
    // Whether one setting requires another is known only of all of them together.
    if error.kind() == ErrorKind::MissingRequiredArgument {
        return None;
    }
    let error = in_our_words(error, table, &alone, &[]);
    let error = match sources.file {
        Some(file) => file.in_our_words(error, sources.environment),
        None => error,
    };
    Some(text_of(&error))
}

/// Returns the message of an error without the hint at the help.
fn text_of(error: &Error) -> String {
    let text = error.render().to_string();
    let text = text.split("\n\nFor more information").next().unwrap_or_default();
    text.strip_prefix("error: ").unwrap_or(text).trim_end().to_owned()
}
