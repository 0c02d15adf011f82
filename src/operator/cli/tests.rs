//! Tests of command lines: which are accepted, and which are rejected.

use std::path::Path;

use super::*;

pub(super) fn parsed(line: &str, variables: &[(&str, &str)]) -> Result<Command, String> {
    let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    parse_from(line.split_whitespace(), &environment).map_err(|error| error.to_string())
}

fn serve(line: &str, variables: &[(&str, &str)]) -> Settings {
    match parsed(line, variables) {
        Ok(Command::Serve(settings)) => *settings,
        other => panic!("{other:?}"),
    }
}

#[test]
fn definitions_are_consistent() {
    CommandLine::command().debug_assert();
}

#[test]
fn serve_is_the_default_with_its_flags() {
    assert_eq!(serve("platform", &[]), Settings::default());
    assert_eq!(serve("platform serve", &[]), Settings::default());
    for line in [
        "platform --listen [::1]:0 --client-compatibility",
        "platform serve --listen=[::1]:0 --client-compatibility",
    ] {
        let settings = serve(line, &[]);

        assert_eq!(settings.listen.to_string(), "[::1]:0");
        assert!(settings.client_compatibility);
    }
}

#[test]
fn flag_overrides_variable_and_variable_overrides_default() {
    let variables = [("PLATFORM_WORKERS", "3"), ("PLATFORM_DEBUG_ERRORS", "true"), ("HOME", "/")];

    for line in ["platform --workers 5", "platform serve --workers 5"] {
        assert_eq!((serve(line, &variables).workers, serve(line, &variables).debug_errors), (5, true));
    }
    assert_eq!(serve("platform serve", &variables).workers, 3);
    assert!(!serve("platform --debug-errors=false", &variables).debug_errors);
}

#[test]
fn lists_in_variables_are_split_at_commas() {
    let settings = serve("platform", &[("PLATFORM_TRUSTED_PROXIES", "127.0.0.1,10.0.0.0/8")]);

    assert_eq!(settings, serve("platform --trusted-proxies 127.0.0.1,10.0.0.0/8", &[]));
    assert_eq!(settings.trusted_proxies.len(), 2);
}

#[test]
fn tenant_is_created_beside_the_servers_settings() {
    let variables =
        [("PLATFORM_DATA_DIR", "/var/lib/platform"), ("PLATFORM_ADMIN_PASSWORD", "of-the-first-start")];
    let line = "platform admin tenant create plant7 --domain plant7.example.com --company Acme";

    let Ok(Command::TenantCreate { settings, tenant }) = parsed(line, &variables) else { panic!("refused") };

    assert_eq!(settings.store.data_dir, Path::new("/var/lib/platform"));
    assert_eq!((tenant.id.as_str(), tenant.admin_user.as_str()), ("plant7", "admin"));
    assert_eq!(tenant.admin_password, None, "that of the first start is another one");
}

#[test]
fn users_are_created_and_given_passwords() {
    let line = "platform admin user create main mia --role ROLE_ALARM_READ ROLE_EVENT_READ --role ROLE_X --data-dir /d";
    let Ok(Command::UserCreate { settings, user }) = parsed(line, &[]) else { panic!("refused") };
    assert_eq!(user.roles, ["ROLE_ALARM_READ", "ROLE_EVENT_READ", "ROLE_X"]);
    assert_eq!(settings.store.data_dir, Path::new("/d"));

    let line = "platform admin user passwd main mia --password new-secret";
    let Ok(Command::UserPasswd { user, .. }) = parsed(line, &[]) else { panic!("refused") };
    assert_eq!(user.password, Some("new-secret".parse().unwrap()));
}

#[test]
fn tokens_and_limits_are_managed() {
    let task = |line: &str| match parsed(line, &[]) {
        Ok(Command::Tokens { settings, task }) => (settings.store.data_dir.display().to_string(), task),
        other => panic!("{line}: {other:?}"),
    };
    let line = "platform admin token client create main --user mia --scope READ --scope WRITE --data-dir /d";
    let (tenant, user) = ("main".to_owned(), "mia".to_owned());
    let client = ClientCreate { tenant, user, name: None, scope: vec!["READ".into(), "WRITE".into()] };
    assert_eq!(task(line), ("/d".into(), TokenTask::CreateClient(client)));

    let (_, listed) = task("platform admin token client list main");
    assert_eq!(listed, TokenTask::ListClients(ClientList { tenant: "main".into() }));
    let (_, deleted) = task("platform admin token client delete abc");
    assert_eq!(deleted, TokenTask::DeleteClient(ClientDelete { key: "abc".into() }));

    let (_, created) = task("platform admin limits token create 0123");
    let expected = LimitsTokenCreate { account: "0123".into(), days: 365 };
    assert_eq!(created, TokenTask::CreateLimitsToken(expected));
    let (_, set) = task("platform admin limits set 0123 --max-server-meta 5 --rate -");
    let TokenTask::SetLimits(set) = set else { panic!("{set:?}") };
    assert_eq!((set.max_server_meta, set.max_personality, set.rate.as_deref()), (Some(5), None, Some("-")));

    for line in [
        "platform admin token client create main",
        "platform admin token client create main --user mia --scope ALL",
        "platform admin limits token create 0123 --days 0",
        "platform admin limits set 0123 --max-server-meta -1",
    ] {
        assert!(parsed(line, &[]).is_err(), "{line}");
    }
}

#[test]
fn an_application_is_routed_to_an_address_or_to_none() {
    let task = |line: &str| match parsed(line, &[]) {
        Ok(Command::Applications { settings, task }) => (settings.store.data_dir.display().to_string(), task),
        other => panic!("{line}: {other:?}"),
    };
    let route = |address: Option<&str>| {
        let (application, address) = ("rules".into(), address.map(Into::into));
        ApplicationTask::Route(ApplicationRoute { none: address.is_none(), application, address })
    };
    let line = "platform admin application route rules http://h:1 --data-dir /d";
    assert_eq!(task(line), ("/d".into(), route(Some("http://h:1"))));
    assert_eq!(task("platform admin application route rules --none").1, route(None));
    assert_eq!(task("platform admin application routes").1, ApplicationTask::Routes);
    for line in
        ["platform admin application route rules", "platform admin application route rules http://h:1 --none"]
    {
        assert!(parsed(line, &[]).is_err(), "{line}");
    }
}

#[test]
fn servers_are_listed_drained_and_evicted() {
    let task = |line: &str| match parsed(line, &[]) {
        Ok(Command::Servers { settings, task }) => (settings.store.data_dir.display().to_string(), task),
        other => panic!("{line}: {other:?}"),
    };
    let choice = |output| ServerChoice { server: "web2".into(), output };
    let list = ServerTask::List(ServerList { output: Output::Json });
    assert_eq!(task("platform server list --output json --data-dir /d"), ("/d".into(), list));
    let drain = "platform server drain web2 --output json";
    assert_eq!(task(drain).1, ServerTask::Drain(choice(Output::Json)));
    assert_eq!(task("platform server undrain web2").1, ServerTask::Undrain(choice(Output::Table)));
    let evict = ServerTask::Evict(ServerEvict { choice: choice(Output::Table), force: true });
    assert_eq!(task("platform server evict web2 --force").1, evict);
    for line in ["platform server", "platform server drain", "platform server list --output yaml"] {
        assert!(parsed(line, &[]).is_err(), "{line}");
    }
}

#[test]
fn unknown_and_malformed_settings_are_refused_by_name() {
    for (line, variables, named) in [
        ("platform --lisen x", &[][..], "--listen"),
        ("platform --listen x", &[], "--listen <ADDRESS:PORT>"),
        ("platform serve", &[("PLATFORM_LISEN", "x")], "did you mean PLATFORM_LISTEN?"),
        ("platform admin user passwd main mia", &[("PLATFORM_BATCH_ROWS", "many")], "PLATFORM_BATCH_ROWS"),
        ("platform admin user create main a:b", &[], "user name"),
        ("platform admin tenant create", &[], "--domain"),
        ("platform --data-dir /d user passwd main mia", &[], "cannot be used with"),
    ] {
        let message = parsed(line, variables).unwrap_err();
        assert!(message.contains(named), "{line}: {message}");
    }
}

#[test]
fn refused_password_is_not_repeated() {
    for line in ["platform admin user passwd main mia --password abc12", "platform --admin-password abc12"] {
        let message = parsed(line, &[]).unwrap_err();
        assert!(message.contains("6 to 32") && !message.contains("abc12"), "{message}");
    }
    let message = parsed("platform", &[("PLATFORM_ADMIN_PASSWORD", "abc12")]).unwrap_err();
    assert!(!message.contains("abc12"), "{message}");
}

#[test]
fn help_explains_the_default_start() {
    let help = parsed("platform --help", &[("PLATFORM_WORKERS", "3")]).unwrap_err();

    for part in ["private PostgreSQL", "127.0.0.1:8080", "Examples:", "tenant", "PLATFORM_BODY_BYTES"] {
        assert!(help.contains(part), "{part} is missing in:\n{help}");
    }
}

#[test]
fn backup_and_restore_name_their_file_and_the_data() {
    let line = "platform restore b.zip --replace --data-dir /d";
    let Ok(Command::Restore { settings, restore }) = parsed(line, &[]) else { panic!("refused") };
    assert_eq!((restore.file.as_deref(), restore.replace), (Some(Path::new("b.zip")), true));
    assert_eq!(settings.store.data_dir, Path::new("/d"));

    let Ok(Command::Backup { backup, .. }) = parsed("platform backup b.zip", &[]) else { panic!("refused") };
    assert_eq!(backup.file, Path::new("b.zip"));
    assert!(parsed("platform backup", &[]).is_err());
}

#[test]
fn export_and_import_name_tenant_and_file() {
    let line = "platform admin tenant export plant7 --output p.tenant --data-dir /d";
    let Ok(Command::Transfers { settings, task }) = parsed(line, &[]) else { panic!("refused") };
    let export = TenantExport { id: "plant7".into(), output: "p.tenant".into() };
    assert_eq!((task, &*settings.store.data_dir), (TransferTask::Export(export), Path::new("/d")));

    let line = "platform admin tenant import p.tenant --as plant8 --domain plant8.example.com --dry-run";
    let Ok(Command::Transfers { task, .. }) = parsed(line, &[]) else { panic!("refused") };
    let (id, domain) = (Some("plant8".into()), Some("plant8.example.com".into()));
    assert_eq!(
        task,
        TransferTask::Import(TenantImport {
            file: "p.tenant".into(),
            id,
            domain,
            source_secret_key_file: None,
            replace: false,
            dry_run: true
        })
    );

    let line = "platform admin tenant move plant7 --to postgres://u@h/d --undo";
    let Ok(Command::Transfers { task: TransferTask::Move(relocation), .. }) = parsed(line, &[]) else {
        panic!("refused")
    };
    assert_eq!((&*relocation.id, relocation.to.as_str()), ("plant7", "postgres://u@h/d"));
    assert_eq!((relocation.undo, relocation.dry_run), (true, false));
    for line in [
        "export plant7",
        "export plant/7 --output f",
        "import",
        "import f --as plant/8",
        "move plant7",
        "move plant7 --to postgres://u@h/d --undo --dry-run",
    ] {
        assert!(parsed(&format!("platform admin tenant {line}"), &[]).is_err(), "{line}");
    }
}

/// Writes a file of settings. Returns its path, and the directory, which is deleted when dropped.
pub(super) fn settings_file(text: &str) -> (String, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("platform.toml");
    std::fs::write(&path, text).unwrap();
    (path.display().to_string(), directory)
}

#[test]
fn flags_and_variables_override_the_file() {
    let text = "listen = '127.0.0.1:1'\nworkers = 3\nactor-threads = 4\nregions = ['de', 'fr']\nclient-compatibility \
        = true\n";
    let (path, _directory) = settings_file(text);
    let variables = [("PLATFORM_CONFIG", path.as_str()), ("PLATFORM_ACTOR_THREADS", "5")];

    for settings in [
        serve("platform --listen 127.0.0.1:2", &variables),
        serve(&format!("platform serve --listen 127.0.0.1:2 --config {path}"), &variables[1..]),
        serve(&format!("platform --config={path} --listen 127.0.0.1:2"), &variables[1..]),
    ] {
        assert_eq!((settings.listen.port(), settings.workers, settings.actor_threads), (2, 3, 5));
        assert_eq!((settings.regions, settings.client_compatibility), (vec!["de".into(), "fr".into()], true));
    }
    let Ok(Command::ConfigCheck { file, settings }) = parsed("platform config check", &variables) else {
        panic!()
    };
    assert_eq!((file.unwrap().1, settings.workers), (5, 3));
}

#[test]
fn error_in_a_file_names_the_setting_and_the_path() {
    for (text, named) in [
        ("listen = 'x'", "listen in "),
        ("lisen = 'x'", "did you mean listen?"),
        ("config = 'x'", "unknown setting config"),
        ("listen = { a = 1 }", "listen: a text"),
        ("listen", ":1: this is not TOML"),
        ("workers = 2\n\nlisten = 'x'", "platform.toml:3"),
        ("workers = 2\nadmin-password = 'hunter2\n", "platform.toml:2: this is not TOML"),
        ("database-url = 'mysql://me:hunter2@h/d'", "database-url in "),
    ] {
        let (path, _directory) = settings_file(text);
        let message = parsed(&format!("platform --config {path}"), &[]).unwrap_err();
        assert!(
            message.contains(named) && message.contains(&path) && !message.contains("hunter2"),
            "{message}"
        );
    }
    assert!(parsed("platform --config /nowhere.toml", &[]).unwrap_err().contains("/nowhere.toml"));
    assert!(parsed("platform --config /nowhere.toml --help", &[]).unwrap_err().contains("Usage"));
}

#[test]
fn only_a_data_directory_that_nobody_chose_is_relocated() {
    let (file, _directory) = settings_file("data-dir = \"./platform-data\"\n");
    let of_file = format!("platform doctor --config {file}");
    let chosen = [("PLATFORM_DATA_DIR", "./platform-data")];
    for (line, variables, relocated) in [
        ("platform", &[][..], true),
        ("platform serve", &[], true),
        ("platform demo", &[], true),
        ("platform status", &[], true),
        ("platform admin user passwd main mia", &[], true),
        ("platform server list", &[], true),
        ("platform restore b.zip", &[], true),
        ("platform --data-dir ./platform-data", &[], false),
        ("platform backup b.zip --data-dir=./platform-data", &[], false),
        ("platform admin token client list main", &chosen, false),
        (&of_file, &[], false),
    ] {
        let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let relocate = |store: &mut StoreSettings| store.data_dir = "/elsewhere".into();
        let place = Place { relocate: &relocate, ..Place::nowhere() };
        let mut command = parse_relocating(line.split_whitespace(), &environment, &place).unwrap();
        let settings = command.settings_mut().unwrap();
        assert_eq!(settings.store.data_dir == Path::new("/elsewhere"), relocated, "{line}");
    }
}

#[test]
fn commands_that_speak_to_a_server_do_not_look_at_its_settings() {
    for (name, value) in
        [("PLATFORM_CONFIG", "/nowhere.toml"), ("PLATFORM_ADMIN_PASSWORD", ""), ("PLATFORM_LISTEN", "x")]
    {
        assert!(parsed("platform alarm list", &[(name, value)]).is_ok(), "{name}");
        assert!(parsed("platform", &[(name, value)]).is_err(), "{name}");
    }
}

#[test]
fn short_help_has_the_commands_alone() {
    let help = parsed("platform -h", &[]).unwrap_err();
    assert!(help.lines().count() < 60, "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    assert!(!help.contains("--listen") && help.contains("platform --help"), "{help}");
    assert!(parsed("platform --help", &[]).unwrap_err().contains("--listen"));
}

#[test]
fn commands_about_a_server_use_the_settings_of_the_package() {
    let directory = tempfile::tempdir().unwrap();
    let package = directory.path().join("platform.toml");
    std::fs::write(&package, "data-dir = \"/var/lib/of-package\"\n").unwrap();
    let parsed = |line: &str, variables: &[(&str, &str)], data: &Path| {
        let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let place = Place { relocate: &|_| {}, package: &package, data };
        let mut command = parse_relocating(line.split_whitespace(), &environment, &place).unwrap();
        command.settings_mut().unwrap().store.data_dir.clone()
    };
    let (absent, of_package) = (directory.path().join("absent"), Path::new("/var/lib/of-package"));
    for line in [
        "platform status",
        "platform doctor",
        "platform server list",
        "platform backup x.zip",
        "platform admin user passwd main admin",
    ] {
        assert_eq!(parsed(line, &[], &absent), of_package, "{line}");
    }
    for (line, variables, data) in [
        ("platform", &[][..], absent.as_path()),
        ("platform serve", &[], &absent),
        ("platform demo", &[], &absent),
        ("platform status --data-dir x", &[], &absent),
        ("platform status", &[("PLATFORM_DATA_DIR", "x")], &absent),
        ("platform status", &[], directory.path()),
    ] {
        assert_ne!(parsed(line, variables, data), of_package, "{line}");
    }
}

#[test]
fn password_of_the_database_comes_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("password");
    std::fs::write(&file, "s e'c\\ret&?\n").unwrap();
    let file = file.to_str().unwrap();
    for url in ["postgres://platform@db/things", "postgres://platform@db/things?sslmode=require", "host=db"] {
        let variables = [("PLATFORM_DATABASE_URL", url), ("PLATFORM_DATABASE_PASSWORD_FILE", file)];
        let settings = serve("platform", &variables);
        let url = settings.store.database_url.unwrap();
        let environment = platform_store::libpq_environment(url.as_str()).unwrap();
        let password = environment.iter().find(|(name, _)| *name == "PGPASSWORD");
        assert_eq!(password.unwrap().1, "s e'c\\ret&?", "{}", url.as_str());
    }
    let with_both = "platform --database-url postgres://a:b@db/x --database-password-file ";
    assert!(parsed(&format!("{with_both}{file}"), &[]).unwrap_err().contains("has a password, too"));
    let absent = "platform --database-url postgres://a@db/x --database-password-file /nowhere";
    assert!(parsed(absent, &[]).unwrap_err().contains("/nowhere"));
    assert!(parsed("platform --database-password-file /nowhere", &[]).is_err());
}
