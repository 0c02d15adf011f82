//! Tests of the settings of a command line: all faults at once, and the origins of values.

use super::tests::{parsed, settings_file};
use super::*;

#[test]
fn all_faults_of_the_settings_are_reported_at_once() {
    let text = "workers = 0\n# a comment\nlisten = 'x'\nlisen = 'y'\nregions = { a = 1 }\ndrain-seconds = '1 year'\n";
    let (path, _directory) = settings_file(text);
    let variables = [
        ("PLATFORM_CONFIG", path.as_str()),
        ("PLATFORM_ACTOR_THREADS", "none"),
        ("PLATFORM_WORKRES", "2"),
        ("PLATFORM_DRAIN_SECONDS", "5s"),
    ];
    for line in ["platform", "platform serve", "platform config check", "platform config show"] {
        let message = parsed(line, &variables).unwrap_err();
        for named in [
            format!("'workers in {path}:1'"),
            format!("'listen in {path}:3'"),
            format!("{path}:4: unknown setting lisen; did you mean listen?"),
            format!("{path}:5: regions: a text"),
            "PLATFORM_ACTOR_THREADS".into(),
            "PLATFORM_WORKRES; did you mean PLATFORM_WORKERS?".into(),
        ] {
            assert!(message.contains(&named), "{line}: {named}: {message}");
        }
        assert!(!message.contains("1 year"), "a variable replaces it: {message}");
        assert_eq!(message.matches("error: ").count(), 6, "each fault is named once: {message}");
    }
}

#[test]
fn settings_are_shown_with_value_and_origin() {
    let text = "listen = '127.0.0.1:1'\nworkers = 3\nactor-threads = 4\nadmin-password = 'hunter2'\n\
        regions = ['de', 'fr']\n";
    let (path, _directory) = settings_file(text);
    let variables = [
        ("PLATFORM_CONFIG", path.as_str()),
        ("PLATFORM_ACTOR_THREADS", "5"),
        ("PLATFORM_DATABASE_URL", "postgres://me:hunter2@db/things"),
    ];
    let line = "platform config show --listen 127.0.0.1:2";
    let Ok(Command::ConfigShow { shown, settings, .. }) = parsed(line, &variables) else { panic!("refused") };
    let of = |name: &str| {
        let found = shown.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("{name}"));
        (found.value.as_deref(), found.origin.as_str())
    };
    assert_eq!(of("listen"), (Some("127.0.0.1:2"), "--listen"));
    assert_eq!(of("actor-threads"), (Some("5"), "PLATFORM_ACTOR_THREADS"));
    assert_eq!(of("workers"), (Some("3"), &*format!("{path}:2")));
    assert_eq!(of("regions"), (Some("de,fr"), &*format!("{path}:5")));
    assert_eq!(of("admin-password"), (Some("(hidden)"), &*format!("{path}:4")));
    assert_eq!(of("database-url"), (Some("(hidden)"), "PLATFORM_DATABASE_URL"));
    assert_eq!(of("body-bytes"), (Some("16MiB"), "default"));
    assert_eq!(of("public-url"), (None, "default"));
    assert_eq!(shown.len(), 119, "every setting is shown");
    assert_eq!((settings.workers, settings.actor_threads, settings.listen.port()), (3, 5, 2));

    let open = [("PLATFORM_DATABASE_URL", "postgres://me@db/things")];
    let Ok(Command::ConfigShow { shown, .. }) = parsed("platform config show", &open) else {
        panic!("refused")
    };
    assert!(shown.iter().any(|one| one.value.as_deref() == Some("postgres://me@db/things")));
}
