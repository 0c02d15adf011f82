//! The table: defaults, variables, and what is refused.

use std::{env, fs, path::Path};

use clap::{Arg, CommandFactory};
use platform_model::limits::TABLE;

use super::*;
use quantity::Unit;

#[derive(clap::Parser)]
struct Table {
    #[command(flatten)]
    _settings: Settings,
}

fn from(variables: &[(&str, &str)]) -> Result<Settings, String> {
    let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Settings::from_environment(&environment).map_err(|error| error.to_string())
}

#[test]
fn defaults_are_those_of_the_specification() {
    let settings = Settings::default();

    assert_eq!(settings.limits(), Limits::default());
    assert_eq!(settings.naming(), Naming::default());
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.store.database_url, None);
    assert_eq!(settings.store.secret_key_file(), PathBuf::from("./platform-data/secret.key"));
    assert!(settings.trusted_proxies.is_empty() && !settings.client_compatibility);
}

#[test]
fn every_setting_has_the_variable_of_its_flag() {
    let table = Table::command();
    for argument in table.get_arguments() {
        let flag = argument.get_long().expect("every setting is a flag");
        let variable = format!("PLATFORM_{}", flag.to_uppercase().replace('-', "_"));

        assert_eq!(argument.get_env(), Some(variable.as_ref()), "--{flag}");
        assert!(argument.get_help().is_some(), "--{flag} is documented");
    }
    assert_eq!(table.get_arguments().count(), 119);
}

#[test]
fn settings_with_passwords_are_those_whose_values_are_hidden() {
    let table = Table::command();
    let hidden = table.get_arguments().filter(|setting| setting.is_hide_env_values_set());
    let mut hidden: Vec<_> = hidden.filter_map(Arg::get_long).collect();
    hidden.sort_unstable();
    assert_eq!(hidden, file::SECRETS);
}

#[test]
fn every_limit_that_is_set_is_in_force() {
    for limit in TABLE {
        let variable = format!("PLATFORM_{}", limit.flag.to_uppercase().replace('-', "_"));
        for bound in
            [limit.range.start(), limit.range.end()].into_iter().filter(|at| limit.default != Some(**at))
        {
            let settings = from(&[(&variable, &Unit::of(limit.flag).write(*bound))]).unwrap();
            let mut expected = Limits::default();
            (limit.set)(&mut expected, *bound);

            assert_eq!(settings.limits(), expected, "{variable}");
            assert_ne!(settings.limits(), Limits::default(), "{variable}");
        }
    }
}

#[test]
fn bytes_and_times_may_have_units() {
    let settings = from(&[
        ("PLATFORM_BODY_BYTES", "1MiB"),
        ("PLATFORM_SESSION_INTERVAL_MS", "10s"),
        ("PLATFORM_KEEP_ALIVE_SECONDS", "90min"),
        ("PLATFORM_SHUTDOWN_SECONDS", "1min"),
        ("PLATFORM_LEAST_FREE_BYTES", "2GB"),
        ("PLATFORM_HOSTED_CACHE_BYTES", "2097152"),
    ])
    .unwrap();

    assert_eq!(settings.limits.body_bytes, 1 << 20);
    assert_eq!(settings.limits.session_interval, Duration::from_secs(10));
    assert_eq!(settings.limits.keep_alive, Duration::from_secs(5400));
    assert_eq!(settings.shutdown, Duration::from_secs(60));
    assert_eq!((settings.store.least_free, settings.hosted_cache_bytes), (2_000_000_000, 2 << 20));
}

#[test]
fn env_example_lists_the_table() {
    let example = fs::read_to_string(in_project(".env.example")).unwrap();
    let listed: Vec<_> = example.lines().filter_map(|line| line.strip_prefix('#')?.split_once('=')).collect();

    let table: Vec<_> = Table::command().get_arguments().cloned().collect();
    for argument in &table {
        let variable = argument.get_env().unwrap().to_string_lossy();
        let value = listed.iter().find(|(name, _)| *name == variable).map(|(_, value)| *value);
        let default = argument.get_default_values().first().map(|value| value.to_string_lossy());

        assert!(value.is_some(), "{variable} is not listed");
        if let Some(default) = default.filter(|_| !argument.is_hide_default_value_set()) {
            assert_eq!(value, Some(&*default), "{variable}");
        }
    }
    assert_eq!(listed.iter().filter(|(name, _)| name.starts_with("PLATFORM_")).count(), table.len());
}

#[test]
fn variables_set_what_flags_set() {
    let settings = from(&[
        ("PLATFORM_LISTEN", "0.0.0.0:0"),
        ("PLATFORM_TRUSTED_PROXIES", "10.0.0.0/8,::1"),
        ("PLATFORM_CLIENT_COMPATIBILITY", "true"),
        ("PLATFORM_SESSION_INTERVAL_MS", "200"),
        ("PLATFORM_USER_SESSIONS", "7"),
        ("PLATFORM_NAMING_FRAGMENT_PREFIX", "acme_"),
        ("PLATFORM_DATABASE_URL", "host=/run/postgresql user=a dbname=b"),
    ])
    .unwrap();

    assert_eq!(settings.listen.to_string(), "0.0.0.0:0");
    assert_eq!(settings.trusted_proxies.len(), 2);
    assert!(settings.client_compatibility);
    assert_eq!(settings.limits().session_interval, Duration::from_millis(200));
    assert_eq!(settings.limits().sessions_per_user, Some(7));
    assert_eq!(settings.naming().fragment_prefix, "acme_");
    assert_eq!(settings.store.database_url.unwrap().as_str(), "host=/run/postgresql user=a dbname=b");
}

#[test]
fn malformed_value_is_refused_with_its_name_and_what_is_allowed() {
    for (variable, value, allowed) in [
        ("PLATFORM_CLIENT_COMPATIBILITY", "yes", "true, false"),
        ("PLATFORM_DEBUG_ERRORS", "1", "true, false"),
        ("PLATFORM_LOG_FORMAT", "xml", "text, json"),
        ("PLATFORM_BATCH_ROWS", "0", "expected 1 to 10000"),
        ("PLATFORM_BATCH_ROWS", "1k", "expected 1 to 10000"),
        ("PLATFORM_BODY_BYTES", "16 pounds", "expected 1KiB to 1GiB: a number of bytes, or one with a unit"),
        ("PLATFORM_BODY_BYTES", "2GiB", "expected 1KiB to 1GiB"),
        (
            "PLATFORM_CONNECT_TIMEOUT_MS",
            "3h",
            "expected 1ms to 2h: a number of milliseconds, or one with a unit",
        ),
        ("PLATFORM_KEEP_ALIVE_SECONDS", "1500ms", "expected 1s to 1d: a whole number of seconds"),
        ("PLATFORM_LISTEN", "8080", "127.0.0.1:8080"),
        ("PLATFORM_TRUSTED_PROXIES", "10.0.0.0/40", "10.0.0.0/8"),
        ("PLATFORM_ADMIN_PASSWORD", "short", "6 to 32"),
        ("PLATFORM_DATABASE_URL", "mysql://h/d", "postgres://"),
        ("PLATFORM_DATABASE_URL", "postgres://h/d?sslmode=bad", "sslmode is disable"),
        ("PLATFORM_DATABASE_URL", "postgres://h:99999/d", "port"),
        ("PLATFORM_PUBLIC_URL", "things.example.com", "https://"),
        ("PLATFORM_NAMING_HEADER_PREFIX", "X Platform", "letters, digits"),
        ("PLATFORM_DATA_DIR", "", "a value is required"),
    ] {
        let message = from(&[(variable, value)]).unwrap_err();

        let names_value = message.contains(value) || message.contains("(hidden)");
        assert!(names_value && message.contains(variable) && message.contains(allowed), "{message}");
    }
}

#[test]
fn refused_secret_is_not_repeated() {
    let message = from(&[("PLATFORM_DATABASE_URL", "mysql://me:hunter2@host/db")]).unwrap_err();

    assert!(!message.contains("hunter2"), "{message}");
}

#[test]
fn reference_is_that_of_the_settings() {
    let table = Table::command();
    let mut page = String::from(REFERENCE);
    let settings: Vec<&Arg> = table.get_arguments().collect();
    for group in settings.chunk_by(|one, next| one.get_help_heading() == next.get_help_heading()) {
        let heading = group[0].get_help_heading().expect("every setting has a heading");
        let rows: String = group.iter().map(|setting| row(setting)).collect();
        page += &format!("\n## {heading}\n\n| Setting | Default | |\n|---|---|---|\n{rows}");
    }

    assert_is_written("docs/settings.md", &page);
}

#[test]
fn limits_of_env_example_are_those_of_the_table() {
    let example = fs::read_to_string(in_project(".env.example")).unwrap();
    let (before, rest) = example.split_once("\n# Limits\n").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let limits: Vec<String> = Table::command()
        .get_arguments()
        .filter(|setting| setting.get_help_heading() == Some("Limits"))
        .map(|setting| format!("#{}={}", setting.get_env().unwrap().display(), default(setting)))
        .collect();

    assert_is_written(".env.example", &format!("{before}\n# Limits\n{}\n\n{after}", limits.join("\n")));
}

/// The file with all settings that packages install; each is a comment with its default.
#[test]
fn file_of_settings_has_the_table() {
    let mut file = String::from(FILE);
    let table = Table::command();
    let mut heading = None;
    for setting in table.get_arguments().filter(|setting| setting.get_long() != Some("config")) {
        if heading != setting.get_help_heading() {
            heading = setting.get_help_heading();
            file += &format!("\n\n# === {}\n", heading.unwrap());
        }
        let help = setting.get_help().unwrap().to_string();
        let default = default(setting);
        let value = match default.as_str() {
            "true" | "false" => default,
            number if number.parse::<u64>().is_ok() => default,
            "" => format!("{:?}", setting.get_value_names().unwrap()[0].as_str()),
            text => format!("{text:?}"),
        };
        file += &format!("\n# {}\n#{} = {value}\n", help.trim_end_matches('.'), setting.get_long().unwrap());
    }

    assert_is_written("ops/platform.toml", &file);
    let enabled: String = file
        .lines()
        .map(|line| {
            line.strip_prefix('#').filter(|line| line.contains(" = ")).unwrap_or("").to_owned() + "\n"
        })
        .collect();
    assert_eq!(enabled.parse::<toml::Table>().unwrap().len(), table.get_arguments().count() - 1);
}

const FILE: &str = "\
# Settings of the server, read with `--config` or PLATFORM_CONFIG. A flag or a variable goes before this file.
# Each setting is a comment with its default; docs/settings.md explains them. `platform config check` checks the file.";

const REFERENCE: &str = "\
# Settings

Every setting is a flag and a variable of the environment: `--body-bytes` and `PLATFORM_BODY_BYTES`. A flag goes
before its variable, the variable before the file of `--config`, and the file before the default. The server does not
start with a setting that it does not know or cannot read.

The unit of a number is part of its name. Bytes and times may also have a unit of their own, such as `64KiB`, `16MB`,
`250ms`, `10s`, `90min` or `7d`. A time must be a whole number of the unit in its name.

A test compares this page with the settings; `WRITE_REFERENCE=1 cargo test -p platform-front config` writes it.
";

/// A setting as a row of the reference.
fn row(setting: &Arg) -> String {
    let flag = setting.get_long().unwrap();
    let default = Some(default(setting)).filter(|text| !text.is_empty()).map(|text| format!("`{text}`"));
    let help = setting.get_long_help().or(setting.get_help()).unwrap().to_string();
    let mut text = help.trim_end_matches('.').replace("\n\n", ". ") + ".";
    if let Some(limit) = TABLE.iter().find(|limit| limit.flag == flag) {
        let [least, most] = [limit.range.start(), limit.range.end()].map(|at| Unit::of(flag).write(*at));
        text += &format!(" Allowed: {least} to {most}.");
        for rule in limit.rules.split(", ").filter(|rule| !rule.is_empty()) {
            text += &format!(" [{rule}](rules.md#{})", rule.to_lowercase());
        }
    }
    format!("| `--{flag}` | {} | {text} |\n", default.unwrap_or_default())
}

/// The default that does not depend on the machine, as it is written; empty for none.
fn default(setting: &Arg) -> String {
    let values = setting.get_default_values().iter().filter(|_| !setting.is_hide_default_value_set());
    values.map(|value| value.to_string_lossy()).collect()
}

fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Asserts that a file of the project is as generated. With `WRITE_REFERENCE` it is written.
fn assert_is_written(path: &str, generated: &str) {
    let file = in_project(path);
    if env::var_os("WRITE_REFERENCE").is_some() {
        fs::write(&file, generated).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == generated,
        "{path} is not that of the settings; `WRITE_REFERENCE=1 cargo test -p platform-front config` writes it"
    );
}
