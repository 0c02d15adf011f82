//! The table: defaults, variables, and what is refused.

use clap::CommandFactory;

use super::*;

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
    assert_eq!(table.get_arguments().count(), 89);
}

#[test]
fn every_limit_that_is_set_is_in_force() {
    for argument in Table::command().get_arguments().filter(|it| it.get_help_heading() == Some("Limits")) {
        let variable = argument.get_env().unwrap().to_str().unwrap();
        let default = argument.get_default_values().first().map_or("0", |value| value.to_str().unwrap());
        let other = default.parse::<u64>().unwrap() + 1;

        let settings = from(&[(variable, &other.to_string())]).unwrap();

        assert_ne!(settings.limits(), Limits::default(), "{variable}");
    }
}

#[test]
fn env_example_lists_the_table() {
    let example = include_str!("../../.env.example");
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
        ("PLATFORM_BATCH_ROWS", "0", "1..=10000"),
        ("PLATFORM_LISTEN", "8080", "127.0.0.1:8080"),
        ("PLATFORM_TRUSTED_PROXIES", "10.0.0.0/40", "10.0.0.0/8"),
        ("PLATFORM_ADMIN_PASSWORD", "short", "6 to 32"),
        ("PLATFORM_DATABASE_URL", "mysql://h/d", "postgres://"),
        ("PLATFORM_PUBLIC_URL", "things.example.com", "https://"),
        ("PLATFORM_NAMING_HEADER_PREFIX", "X Platform", "letters, digits"),
        ("PLATFORM_DATA_DIR", "", "a value is required"),
    ] {
        let message = from(&[(variable, value)]).unwrap_err();

        assert!(message.contains(variable) && message.contains(allowed), "{message}");
    }
}

#[test]
fn refused_secret_is_not_repeated() {
    let message = from(&[("PLATFORM_DATABASE_URL", "mysql://me:hunter2@host/db")]).unwrap_err();

    assert!(!message.contains("hunter2"), "{message}");
}
