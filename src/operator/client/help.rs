//! The help of a flag: the description that the API reference has of its parameter or member, and what only the command
//! line knows about it.

use super::reference::Field;
use super::secret;

/// Returns the help of the flag for a field.
pub(super) fn of(field: &Field) -> String {
    let mut help = first_sentence(field.description).to_owned();
    if secret::is_secret(field) {
        help = format!("{help}; {}", secret::HELP);
    }
    if field.is_time {
        help += "; -90min, -1h and -7d are times before now";
    }
    match field.name {
        "time" => help += " [default: now]",
        "source" | "deviceId" if field.is_required => help += "; ids may also come from a pipe [mandatory]",
        _ if field.is_required => help += " [mandatory]",
        _ => {}
    }
    help
}

fn first_sentence(text: &'static str) -> &'static str {
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::super::commands::commands;

    /// Adds the flags without help of a command and of those below it.
    fn add_silent(path: &str, command: &Command, silent: &mut Vec<String>) {
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            // `of` adds only words that begin with a blank or a semicolon.
            if help.is_empty() || help.starts_with([';', ' ']) {
                silent.push(format!("{path} {}: {help:?}", argument.get_id()));
            }
        }
        for below in command.get_subcommands() {
            add_silent(&format!("{path} {}", below.get_name()), below, silent);
        }
    }

    fn built() -> Command {
        let mut command = Command::new("platform").subcommands(commands());
        command.build();
        command
    }

    #[test]
    fn every_flag_says_what_it_is() {
        let mut silent = Vec::new();
        for noun in super::super::nouns::nouns() {
            let command = built();
            add_silent(noun.name, command.find_subcommand(noun.name).unwrap(), &mut silent);
        }
        assert!(silent.is_empty(), "flags without a description in docs/openapi: {silent:#?}");
    }

    #[test]
    fn help_says_which_flags_are_mandatory() {
        let command = built();
        let create =
            command.find_subcommand("alarm").and_then(|alarm| alarm.find_subcommand("create")).unwrap();
        let help = |flag: &str| {
            let mut arguments = create.get_arguments();
            let found = arguments.find(|argument| argument.get_long() == Some(flag)).unwrap();
            found.get_help().unwrap().to_string()
        };
        assert!(help("type").ends_with("[mandatory]"), "{}", help("type"));
        assert!(help("source").contains("pipe [mandatory]"), "{}", help("source"));
        assert!(help("time").ends_with("[default: now]"), "{}", help("time"));
        assert!(!help("status").contains("[mandatory]"), "{}", help("status"));
    }

    #[test]
    fn members_that_take_objects_have_no_flag_and_enumerations_have_their_values() {
        let parse = |line: &str| built().try_get_matches_from(line.split(' '));
        for line in [
            "platform user update joe --custom-properties {}",
            "platform user update joe --device-permissions {}",
            "platform application update 30 --availability PUBLIC",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        let refused = parse("platform application update 30 --availability PUBLIC").unwrap_err().to_string();
        assert!(refused.contains("MARKET"), "{refused}");
        assert!(parse("platform application update 30 --availability MARKET").is_ok());
    }

    #[test]
    fn list_of_texts_is_a_flag_that_may_be_repeated() {
        let channels = |line: &str| -> Vec<String> {
            let parsed = built().try_get_matches_from(line.split(' ')).unwrap();
            let (_, consumer) = parsed.subcommand().unwrap();
            let (_, create) = consumer.subcommand().unwrap();
            create.get_many::<String>("field:channels").unwrap().cloned().collect()
        };
        let line =
            "platform consumer create --name a --channels /alarms/*,/events/* --channels /operations/7";
        assert_eq!(channels(line), ["/alarms/*", "/events/*", "/operations/7"]);
        assert!(built().try_get_matches_from(["platform", "consumer", "seek", "a"]).is_err());
        assert!(built().try_get_matches_from(["platform", "consumer", "tail", "a", "--count", "0"]).is_err());
    }
}
