//! The `platform` program: runs a command and prints its result. The caller runs the server.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use actix_rt::System;
use platform_front::config::{Settings, StoreSettings};
use platform_front::secrets::password::SecretKey;
use platform_front::secrets::secret_key;
use platform_front::terminal::{print, say};
use platform_store::{Connections, Database};

use crate::administration;
use crate::backup::{self, RestorableBackup};
use crate::cli::{self, Command, RestoreArguments};
use crate::client;
use crate::demo::{self, Demo};
use crate::diagnosis;
use crate::embedded_postgres::{
    Durability, EmbeddedPostgres, Options, holds_database, relocation, running_database_url,
};
use crate::settings_check::{self, Risk};
use crate::shown_settings;
use crate::transfer::{self, TenantFile};

/// An error that ends the program and is printed for the operator.
pub type Failure = Box<dyn std::error::Error>;

/// Runs the program with the arguments of the process, and returns its exit code. `serve` runs the server until it is
/// stopped, beside the simulated fleet of a demo.
pub fn run(serve: fn(&Settings, Option<Demo>) -> Result<(), Failure>) -> ExitCode {
    let command = cli::parse(relocate);
    let outcome = match command {
        Command::Client { name, matches } => return client::run(&name, &matches, cli::program()),
        Command::Serve(settings) => serve(&settings, None),
        Command::Demo { settings, demo: arguments } => match &arguments.url {
            Some(url) => return demo::at_server(url, &arguments),
            None if arguments.remove => {
                administer(&settings, async |database, _| demo::remove_from(database).await)
            }
            None => Demo::new(&settings, &arguments)
                .map_err(Failure::from)
                .and_then(|(settings, demo)| serve(&settings, Some(demo))),
        },
        Command::TenantCreate { settings, tenant } => administer(&settings, async |database, key| {
            administration::create_tenant(database, key, &tenant).await
        }),
        Command::UserCreate { settings, user } => administer(&settings, async |database, key| {
            administration::create_user(database, key, &user).await
        }),
        Command::UserPasswd { settings, user } => administer(&settings, async |database, key| {
            administration::change_password(database, key, &user).await
        }),
        Command::Tokens { settings, task } => administer(&settings, async |database, key| {
            administration::tokens::perform(database, key, &task).await
        }),
        Command::Applications { settings, task } => administer(&settings, async |database, _| {
            administration::applications::perform(database, &task).await
        }),
        Command::Secrets { settings, task } => change_secrets(&settings, &task),
        Command::Transfers { settings, task } => transfer_tenant(&settings, &task),
        Command::Servers { settings, task } => change_servers(&settings, &task),
        Command::Backup { settings, backup } => back_up(&settings, &backup.file),
        Command::Status { settings, output, scope } => {
            return report(System::new().block_on(diagnosis::status(&settings, output, scope)));
        }
        Command::Doctor { settings, output } => {
            return report(System::new().block_on(diagnosis::doctor(&settings, output)));
        }
        Command::ConfigCheck { settings, file } => check_settings(&settings, file),
        Command::ConfigShow { settings, output, shown } => shown_settings::print(&settings, output, shown),
        Command::Restore { settings, restore } => restore_backup(&settings, &restore),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(format_args!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Replaces a default data directory in which the private PostgreSQL could not run.
fn relocate(store: &mut StoreSettings) {
    // Without a private PostgreSQL, the directory has only files of the server itself.
    if store.database_url.is_none()
        && let Some(relocation) = relocation(&store.data_dir)
    {
        store.data_dir = relocation.data_dir;
        store.relocated = Some(relocation.reason);
    }
}

/// Performs `platform server`.
fn change_servers(settings: &Settings, task: &cli::ServerTask) -> Result<(), Failure> {
    administer(settings, async |database, _| administration::servers::perform(database, task).await)
}

/// Performs `platform admin secret`.
fn change_secrets(settings: &Settings, task: &cli::SecretTask) -> Result<(), Failure> {
    on_database(settings, async |database, _| {
        Box::pin(administration::secrets::perform(&settings.store, database, task)).await
    })
}

/// Performs `platform admin tenant export`, `platform admin tenant import` and `platform admin tenant move`.
fn transfer_tenant(settings: &Settings, task: &cli::TransferTask) -> Result<(), Failure> {
    match task {
        cli::TransferTask::Export(export) => on_database(settings, async |database, _| {
            Box::pin(transfer::export(&settings.store, database, export)).await
        }),
        cli::TransferTask::Import(import) => {
            // The file is checked before a private PostgreSQL is started.
            let file = TenantFile::open(&import.file)?;
            on_database(settings, async |database, _| {
                Box::pin(file.import(&settings.store, database, import)).await
            })
        }
        cli::TransferTask::Move(relocation) => on_database(settings, async |database, _| {
            let target = database_of_command(relocation.target()?.as_str(), settings)?;
            Box::pin(transfer::relocate(&settings.store, database, &target, relocation)).await
        }),
    }
}

/// Performs `platform backup`.
fn back_up(settings: &Settings, file: &Path) -> Result<(), Failure> {
    on_database(settings, async |database, url| {
        Box::pin(backup::create(&settings.store, database, url, file)).await
    })
}

/// Prints the findings of `platform status` or `platform doctor` and returns the exit code.
fn report(report: diagnosis::Report) -> ExitCode {
    print(format!("{}\n", report.to_string().trim_end()).as_bytes()).ok();
    if report.is_bad() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Checks the settings as a start does, and prints those that are a risk.
fn check_settings(settings: &Settings, file: Option<(PathBuf, usize)>) -> Result<(), Failure> {
    for Risk { told, remedy } in settings_check::check(settings)? {
        writeln!(io::stdout(), "warning: {told}\n  → {remedy}")?;
    }
    match file {
        Some((path, 1)) => writeln!(io::stdout(), "{}: 1 setting, valid", path.display())?,
        Some((path, count)) => writeln!(io::stdout(), "{}: {count} settings, all valid", path.display())?,
        None => writeln!(io::stdout(), "the settings are valid; no file is named by --config")?,
    }
    Ok(())
}

/// Starts a private PostgreSQL if the settings name no other database.
///
/// # Errors
/// The programs of PostgreSQL are missing, or its data directory cannot be used.
pub fn private_postgres(settings: &Settings) -> Result<Option<EmbeddedPostgres>, Failure> {
    if settings.store.database_url.is_some() {
        return Ok(None);
    }
    Ok(Some(EmbeddedPostgres::start(Options {
        data_dir: settings.store.data_dir.clone(),
        bin_dir: settings.store.postgres_bin_dir.clone(),
        durability: Durability::Durable,
        least_free: settings.store.least_free,
    })?))
}

/// Returns the connection string of the settings, or that of the private PostgreSQL.
pub fn database_url(settings: &Settings, postgres: Option<&EmbeddedPostgres>) -> String {
    let chosen = settings.store.database_url.as_ref().map(|url| url.as_str().to_owned());
    chosen.or_else(|| postgres.map(EmbeddedPostgres::database_url)).unwrap_or_default()
}

/// Runs a command of an administrator, with or without a running server, and prints its result.
fn administer<T: std::fmt::Display>(
    settings: &Settings,
    command: impl AsyncFnOnce(&Database, &SecretKey) -> platform_model::error::Result<T>,
) -> Result<(), Failure> {
    on_database(settings, async |database, _| {
        database.migrate().await?;
        let key = Box::pin(secret_key::open(&settings.store, database)).await?;
        Ok(command(database, &key).await?.to_string())
    })
}

/// Runs a command on the database of a server that may or may not be running, and prints its result. The command also
/// gets the connection string.
fn on_database(
    settings: &Settings,
    command: impl AsyncFnOnce(&Database, &str) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let running = settings.store.database_url.as_ref().map(|url| url.as_str().to_owned());
    let running = running.or_else(|| running_database_url(&settings.store.data_dir));
    if running.is_none() && !holds_database(&settings.store.data_dir)? {
        return Err(no_database_in(&settings.store.data_dir).into());
    }
    let mut postgres = if running.is_some() { None } else { private_postgres(settings)? };
    let url = running.unwrap_or_else(|| database_url(settings, postgres.as_ref()));
    connected(settings, &url, postgres.as_mut(), command)
}

/// Restores a backup. The database may be new, and the private PostgreSQL is created if necessary.
fn restore_backup(settings: &Settings, arguments: &RestoreArguments) -> Result<(), Failure> {
    let Some(file) = &arguments.file else {
        return on_database(settings, async |database, _| backup::undo(&settings.store, database).await);
    };
    // The file is checked before a database is created.
    let mut source = RestorableBackup::open(file)?;
    source.check(&settings.store, arguments)?;
    let mut postgres = private_postgres(settings)?;
    let url = database_url(settings, postgres.as_ref());
    connected(settings, &url, postgres.as_mut(), async |database, url| {
        source.restore(&settings.store, database, url, arguments).await
    })
}

/// Runs a command on a database, prints its result, and stops the private PostgreSQL if it was started for it. Beside
/// running servers it returns when what the command changed is in force there.
fn connected(
    settings: &Settings,
    url: &str,
    postgres: Option<&mut EmbeddedPostgres>,
    command: impl AsyncFnOnce(&Database, &str) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let done = System::new().block_on(async {
        let database = database_of_command(url, settings)?;
        let result = command(&database, url).await?;
        if !result.is_empty() {
            print(format!("{result}\n").as_bytes())?;
        }
        administration::in_force::wait_if_announced(&database).await;
        Ok(())
    });
    if let Some(postgres) = postgres {
        postgres.stop();
    }
    done
}

/// Returns a database with the few connections that a command needs. A move keeps one of the second kind to itself.
fn database_of_command(url: &str, settings: &Settings) -> platform_model::error::Result<Database> {
    Database::new(url, Connections { reads: 1, devices: 2 }, &settings.limits())
}

/// Returns the error for a command whose `--data-dir` contains no database that a server created.
fn no_database_in(data_dir: &Path) -> String {
    let absolute = std::path::absolute(data_dir);
    if let Err(error) = std::fs::read_dir(data_dir)
        && error.kind() == std::io::ErrorKind::PermissionDenied
    {
        let shown = absolute.as_deref().unwrap_or(data_dir).display();
        return format!("{shown} cannot be read by this user; run the command as the user of the server");
    }
    format!(
        "there is no database in {}; set --data-dir or --database-url as for the server, or start the server once \
         first",
        absolute.as_deref().unwrap_or(data_dir).display()
    )
}
