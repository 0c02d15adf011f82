//! The commands and their flags as clap needs them. The flags of a noun are made only when that noun is used, because
//! they come from the API reference, which takes time to parse.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};

use super::listed::Listed;
pub(super) use super::noun::kebab;
use super::noun::{Noun, Verb};
use super::nouns::nouns;
use super::output::Form;
use super::reference::{Field, FileBody, Kind, Operation};
use super::{RESPONSE, api, batch, confirm, consumer, help, listed, many, register, trace, upload};

/// The names of flags that have the same meaning for every noun.
pub(super) const ID: &str = "ID";
pub(super) const DATA: &str = "data";
pub(super) const SET: &str = "set";
pub(super) const OUTPUT: &str = "output";
pub(super) const COLUMNS: &str = "columns";
pub(super) const LIMIT: &str = "limit";
pub(super) const DRY_RUN: &str = "dry-run";
pub(super) const PROFILE: &str = "profile";
pub(super) const TENANT: &str = "tenant";
pub(super) const COUNT: &str = "count";
pub(super) const WORKERS: &str = "workers";
pub(super) const TIMEOUT: &str = "timeout";
pub(super) const AUTHORITIES: &str = "ca";
pub(super) const SSO: &str = "sso";
pub(super) const CODE: &str = "code";
/// The most requests of one command that are sent at the same time.
const MOST_WORKERS: u64 = 64;
/// The prefix of the ids of arguments that are query parameters or members of a body.
pub(super) const FIELD: &str = "field:";

/// The exit codes, which the help of every command lists.
pub(super) const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong command line, 3 not found, \
    4 not allowed, 5 conflict, 6 server not available, 130 interrupted";

/// Returns the commands that send requests to a server.
pub(crate) fn commands() -> Vec<Command> {
    let nouns = nouns().map(|noun| of_noun(noun).defer(verbs_of));
    [login(), logout(), profile()]
        .into_iter()
        .chain(nouns)
        .chain([api::command(), completion(), man()])
        .collect()
}

/// Returns the command of a noun. The list of commands has the first paragraph of its explanation.
fn of_noun(noun: &'static Noun) -> Command {
    let short = noun.about.split("\n\n").next().unwrap_or_default();
    Command::new(noun.name).about(short).long_about(noun.about)
}

fn verbs_of(command: Command) -> Command {
    let noun = nouns().find(|noun| noun.name == command.get_name()).expect("only nouns are deferred");
    let verbs = noun.verbs.iter().map(|(verb, id)| verb_of(noun, *verb, &Operation::named(id)));
    let watch = noun.channel.map(|_| watch(noun));
    command
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(verbs.chain(watch))
        .after_help(format!("Examples:\n{}\n\n{EXIT_CODES}", noun.examples.trim_end()))
}

fn verb_of(noun: &Noun, verb: Verb, operation: &Operation) -> Command {
    let command = Command::new(verb.name()).about(operation.summary).long_about(operation.description);
    let filters = || fields(FIELD, "", &operation.filters);
    let command = match verb {
        Verb::List => {
            let command = command.args(filters()).arg(limit()).arg(output("table")).arg(columns(noun));
            command.args(parent(noun, operation))
        }
        Verb::Get if operation.variables().all(|variable| variable == TENANT) => command.args(filters()),
        Verb::Get => command.args(filters()).arg(ids()),
        Verb::Delete => command.args(filters()).arg(ids()).arg(confirm::yes()),
        Verb::Create => body(command, noun, operation).args(parent(noun, operation)),
        Verb::Update => body(command, noun, operation).arg(ids()),
        Verb::UpdateMany | Verb::DeleteMany => many::arguments(command, operation),
        Verb::Upload if operation.file == Some(FileBody::FormWithObject) => {
            further_members(upload::arguments(command, operation))
        }
        Verb::Upload | Verb::Replace => upload::arguments(command, operation),
        Verb::Download => upload::arguments_of_download(command),
        Verb::Register => register::arguments(command, operation),
        Verb::Seek => command.args(consumer::arguments_of_seek()),
        Verb::Tail => command.args(consumer::arguments_of_tail()),
        Verb::Follow(subject) => command.args(trace::arguments(subject)),
        Verb::Explain => command.args(filters()).arg(output("table")),
    };
    match verb {
        Verb::Tail => return command.arg(profile_flag()),
        Verb::Follow(_) => return command.arg(output("table")).arg(record_columns()).arg(profile_flag()),
        _ => {}
    }
    with_common_flags(command, noun, verb, operation)
}

/// Adds the flags that most verbs have: for many requests, for the output, for the request itself.
fn with_common_flags(command: Command, noun: &Noun, verb: Verb, operation: &Operation) -> Command {
    let command = match verb {
        Verb::Create | Verb::Get | Verb::Update | Verb::Delete => command.arg(workers()).arg(batch::left()),
        _ => command,
    };
    let command = match verb {
        Verb::List | Verb::Delete | Verb::UpdateMany | Verb::DeleteMany | Verb::Download => command,
        Verb::Tail | Verb::Follow(_) | Verb::Explain => command,
        Verb::Get
        | Verb::Create
        | Verb::Update
        | Verb::Upload
        | Verb::Replace
        | Verb::Register
        | Verb::Seek => command.arg(output("json")).arg(columns(noun)),
    };
    let command = match operation.variables().any(|variable| variable == TENANT) {
        true => command.arg(text(TENANT, "TENANT", "Tenant [default: that of the user]")),
        false => command,
    };
    // `register` has a flag of this name for its wait.
    let command = if verb == Verb::Register { command } else { command.arg(timeout_flag()) };
    command.arg(dry_run()).arg(profile_flag())
}

/// Returns the argument for the object to which a list or a new object belongs, if the path has one.
fn parent(noun: &Noun, operation: &Operation) -> Option<Arg> {
    let variables: Vec<_> = operation.variables().filter(|variable| *variable != TENANT).collect();
    let name = variables.join("/").to_uppercase();
    let help = format!("Object whose {} it is about", noun.name);
    (!variables.is_empty()).then(|| Arg::new(ID).value_name(name).required(true).help(help))
}

/// Adds the flags that make a body.
fn body(command: Command, noun: &Noun, operation: &Operation) -> Command {
    let shortcuts = noun.shortcuts.iter().filter(|_| operation.method == "POST");
    let shortcuts = shortcuts
        .map(|(flag, about, ..)| Arg::new(*flag).long(*flag).help(*about).action(ArgAction::SetTrue));
    further_members(command.args(fields(FIELD, "", &operation.members)).args(shortcuts))
}

/// Adds the flags for members without a flag of their own.
fn further_members(command: Command) -> Command {
    command
        .arg(
            text(
                SET,
                "NAME=VALUE",
                "Member of the body, also one within others: plat_Position.lat=51.2; may be repeated",
            )
            .long_help(
                "Member of the body, also one within others: plat_Position.lat=51.2; may be repeated\n\n\
                     The value is JSON; anything else is a text.",
            )
            .action(ArgAction::Append),
        )
        .arg(text(
            DATA,
            "JSON|@FILE|-",
            "Body as JSON, or the file or the pipe that has it; several objects are sent one after the other",
        ))
}

/// Returns the flags for fields. Their ids start with `id`, and their names with `name`.
pub(super) fn fields(id: &str, name: &str, fields: &[Field]) -> impl Iterator<Item = Arg> {
    fields.iter().map(move |field| {
        let flag = format!("{name}{}", kebab(field.name));
        let arg = Arg::new(format!("{id}{}", field.name)).help(help::of(field));
        let arg = match field.name {
            "q" => arg.short('q').long(flag),
            "source" | "deviceId" => arg.long(flag).visible_alias("device"),
            _ => arg.long(flag),
        };
        if !field.allowed.is_empty() {
            return arg.value_parser(PossibleValuesParser::new(field.allowed.clone())).value_name("VALUE");
        }
        let words = listed::words(field.description);
        if !words.is_empty() {
            return arg.value_parser(Listed(words)).value_name("WORDS");
        }
        match field.kind {
            // A text may begin with a hyphen, as a key in PEM does.
            Kind::Text => arg.value_name("TEXT").allow_hyphen_values(true),
            Kind::Number => arg.value_name("NUMBER").value_parser(number).allow_negative_numbers(true),
            Kind::Boolean => arg
                .value_name("true|false")
                .value_parser(value_parser!(bool))
                .num_args(0..=1)
                .require_equals(false)
                .default_missing_value("true"),
            Kind::NumberOrText => arg.value_name("NUMBER|TEXT"),
            Kind::Texts => arg.value_name("TEXT,…").value_delimiter(',').action(ArgAction::Append),
        }
    })
}

fn number(text: &str) -> Result<serde_json::Number, String> {
    serde_json::from_str(text).map_err(|_| "it is not a number".to_owned())
}

pub(super) fn positive(text: &str) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| "a whole number from 1 on is needed".to_owned())
}

pub(super) fn text(id: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).value_name(value).help(help)
}

fn ids() -> Arg {
    Arg::new(ID).num_args(0..).help("Ids [default: read from a pipe, one in each line]")
}

fn limit() -> Arg {
    let help = "Print at most this many; otherwise all pages are read";
    text(LIMIT, "COUNT", help).value_parser(positive).allow_negative_numbers(true)
}

fn workers() -> Arg {
    let help = "Send this many requests at the same time; their responses are printed in order";
    let arg = text(WORKERS, "COUNT", help).value_parser(value_parser!(u64).range(1..=MOST_WORKERS));
    let arg = arg.allow_negative_numbers(true);
    arg.default_value("1")
}

fn output(default: &'static str) -> Arg {
    text(OUTPUT, "FORM", "Form of the output")
        .short('o')
        .default_value(default)
        .value_parser(value_parser!(Form))
}

fn columns(noun: &Noun) -> Arg {
    let arg =
        text(COLUMNS, "NAMES", "Columns of a table and of CSV, such as id,source.id").value_delimiter(',');
    arg.default_value(noun.columns.join(",")).hide_default_value(true)
}

fn record_columns() -> Arg {
    let arg = text(COLUMNS, "NAMES", "Columns of a table and of CSV").value_delimiter(',');
    arg.default_value("time,server,user,text").hide_default_value(true)
}

pub(super) fn timeout_flag() -> Arg {
    let help =
        format!("Longest wait for a response, and for each part of it [default: {}]", RESPONSE.as_secs());
    Arg::new(TIMEOUT)
        .long(TIMEOUT)
        .value_name("SECONDS")
        .help(help)
        .value_parser(positive)
        .allow_negative_numbers(true)
}

pub(super) fn dry_run() -> Arg {
    Arg::new(DRY_RUN).long(DRY_RUN).action(ArgAction::SetTrue).help("Print the request, and send nothing")
}

pub(super) fn profile_flag() -> Arg {
    text(
        PROFILE,
        "NAME",
        "Profile of `platform login` [env: PLATFORM_PROFILE] [default: that of the last log-in]",
    )
}

fn watch(noun: &Noun) -> Command {
    let device =
        Arg::new("device").long("device").value_name("ID").help("Only those of this device [default: all]");
    Command::new("watch")
        .about("Print what is created, changed and deleted, as it happens")
        .arg(device)
        .arg(text(COUNT, "COUNT", "End after this many").value_parser(positive).allow_negative_numbers(true))
        .arg(output("table"))
        .arg(columns(noun))
        .arg(profile_flag())
}

fn login() -> Command {
    Command::new("login")
        .about("Store a server and a user for the commands that speak to it")
        .long_about(
            "Store a server and a user for the commands that speak to it. The password is asked for, or read from a \
             pipe, checked, and stored in platform/profiles.json of the configuration directory (mode 600). Scripts \
             store nothing: they set PLATFORM_URL, PLATFORM_USER and PLATFORM_PASSWORD.\n\n\
             If you have a second factor, a code is asked for, too, and an access token that is valid for twelve hours \
             is stored instead of the password.\n\n\
             With --sso you log in with the identity provider of the tenant: the command prints an address and a code \
             for any browser, and stores an access token that is valid for twelve hours.",
        )
        .arg(Arg::new("url").value_name("URL").required(true).help("Address of the server: http://127.0.0.1:8080"))
        .arg(text("user", "NAME", "Name of the user, or tenant/name [default: asked for]"))
        .arg(
            Arg::new(SSO)
                .long(SSO)
                .action(ArgAction::SetTrue)
                .conflicts_with("user")
                .help("Log in with the identity provider of the tenant that the address belongs to"),
        )
        .arg(
            text(CODE, "CODE", "Code of the second factor, or a recovery code [default: asked for when it is needed]")
                .conflicts_with(SSO),
        )
        .arg(text(PROFILE, "NAME", "Name of the profile").default_value(super::profile::DEFAULT))
        .arg(
            text(AUTHORITIES, "FILE", "Certificates (PEM) of the authorities to trust, instead of this machine's")
                .value_parser(value_parser!(std::path::PathBuf)),
        )
        .after_help(EXIT_CODES)
}

fn logout() -> Command {
    Command::new("logout").about("Delete a stored profile, and end its log-in").arg(profile_flag())
}

fn profile() -> Command {
    let name = Arg::new("name").value_name("NAME").required(true).help("Name of the profile");
    Command::new("profile")
        .about("List the stored profiles, and choose one")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("list").about("List the profiles; the current one has a star").arg(output("table")),
        )
        .subcommand(Command::new("use").about("Make a profile the current one").arg(name))
}

fn completion() -> Command {
    let shell = Arg::new("shell").value_name("SHELL").required(true);
    Command::new("completion")
        .about("Print the completion of a shell")
        .long_about("Print the completion of a shell: source <(platform completion bash)")
        .arg(shell.value_parser(value_parser!(clap_complete::Shell)))
}

fn man() -> Command {
    let directory = Arg::new("directory").value_name("DIR").required(true);
    Command::new("man")
        .about("Write the manual pages of all commands into a directory")
        .arg(directory.value_parser(value_parser!(std::path::PathBuf)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the command line with all deferred parts.
    fn complete() -> Command {
        let mut command = Command::new("platform").subcommands(commands());
        command.build();
        command
    }

    #[test]
    fn every_operation_is_in_the_reference_and_no_flag_is_there_twice() {
        complete().debug_assert();
    }

    #[test]
    fn flags_have_the_names_of_the_api_in_their_own_spelling() {
        assert_eq!(
            [kebab("dateFrom"), kebab("plat_IsDevice"), kebab("q")],
            ["date-from", "plat-is-device", "q"]
        );
        let parsed = complete().try_get_matches_from([
            "platform",
            "alarm",
            "list",
            "--device",
            "4711",
            "--resolved",
            "--date-from",
            "2024-01-01",
        ]);
        assert!(parsed.is_ok(), "{}", parsed.unwrap_err());
        let refused = complete().try_get_matches_from(["platform", "alarm", "create", "--severity", "BAD"]);
        assert!(refused.unwrap_err().to_string().contains("CRITICAL"));
    }
}
