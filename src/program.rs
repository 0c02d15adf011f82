//! The `platform` program: runs the server or a command and prints its result.
//!
//! This code is in the library, so that its futures, and those it awaits, are compiled only once.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use actix_rt::System;
use platform_front::config::{Settings, StoreSettings};
use platform_front::prerequisites::Prerequisites;
use platform_front::secrets::password::SecretKey;
use platform_front::secrets::secret_key;
use platform_front::start_error::StartError;
use platform_front::stop::stop_signal;
use platform_front::telemetry;
use platform_front::terminal::{print, say};
use platform_operator::administration::{self, NewUser};
use platform_operator::backup::{self, RestorableBackup};
use platform_operator::cli::{self, Command, RestoreArguments};
use platform_operator::client;
use platform_operator::demo::{self, Demo};
use platform_operator::diagnosis;
use platform_operator::embedded_postgres::{
    Durability, EmbeddedPostgres, Options, holds_database, relocation, running_database_url,
};
use platform_operator::settings_check::{self, Risk};
use platform_operator::{open_files, shown_settings, systemd};
use platform_store::{Connections, Database};
use platform_web::server::{DatabaseAt, ListeningServer, Server};

/// An error that ends the program and is printed for the operator.
type Failure = Box<dyn std::error::Error>;

/// The interval at which the private PostgreSQL is supervised.
const SUPERVISION: Duration = Duration::from_millis(500);

/// Runs the program with the arguments of the process, and returns its exit code.
pub fn run() -> ExitCode {
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
        Command::Servers { settings, task } => {
            administer(&settings, async |database, _| administration::servers::perform(database, &task).await)
        }
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

/// Performs `platform admin secret`.
fn change_secrets(settings: &Settings, task: &cli::SecretTask) -> Result<(), Failure> {
    on_database(settings, async |database, _| {
        Box::pin(administration::secrets::perform(&settings.store, database, task)).await
    })
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

/// Runs a server until SIGTERM or Ctrl-C, and beside it the simulated fleet of a demo.
fn serve(settings: &Settings, mut demo: Option<Demo>) -> Result<(), Failure> {
    telemetry::start_logging(settings)?;
    platform_model::naming::install(settings.naming())
        .map_err(|_| "the vendor words were read before they were set")?;
    open_files::raise_limit();
    // The checks come before the database is created, so that a failed check has changed nothing.
    let prerequisites = prerequisites(settings).map_err(|error| match &demo {
        Some(_) => demo::advised(error),
        None => error.into(),
    })?;
    let mut greeting = Greeting::begin(prerequisites.base(), &settings.store)?;
    systemd::starting();
    let mut postgres = private_postgres(settings)?;
    let url = database_url(settings, postgres.as_ref());
    let served = System::new().block_on(async {
        let stop_signal = stop_signal()?;
        let start = start(settings, prerequisites, at(&url, postgres.as_ref()), &mut demo, &mut greeting);
        let server = systemd::while_starting(Box::pin(start)).await?;
        Box::pin(run_until(stop_signal, server, settings, demo, postgres.as_mut())).await
    });
    if let Some(postgres) = &mut postgres {
        postgres.stop();
    }
    served
}

/// Starts the server. The users of a first start are introduced by the demo, or by the greeting, which ends here.
async fn start(
    settings: &Settings,
    prerequisites: Prerequisites,
    at: DatabaseAt<'_>,
    demo: &mut Option<Demo>,
    greeting: &mut Greeting,
) -> Result<Server, Failure> {
    let listening = ListeningServer::open(settings, prerequisites, at).await?;
    let introduce = &mut |user| match demo {
        Some(demo) => demo.introduce(user),
        None => greeting.introduce(user),
    };
    administration::first_start(&listening.database, &listening.secret_key, settings, introduce).await?;
    let server = Box::pin(Server::start(settings, listening)).await?;
    if demo.is_none() {
        greeting.end()?;
    }
    Ok(server)
}

/// Runs a server until the signal to stop; a demo ends before.
async fn run_until(
    stop_signal: impl Future<Output = ()>,
    server: Server,
    settings: &Settings,
    demo: Option<Demo>,
    postgres: Option<&mut EmbeddedPostgres>,
) -> Result<(), Failure> {
    let (base, database, vitals) = (server.base(), server.database(), server.vitals());
    systemd::ready(&base);
    let mut outcome = Ok(());
    let stop = async {
        match demo {
            Some(demo) => outcome = Box::pin(demo.run(&base, settings, &database, stop_signal)).await,
            None => stop_signal.await,
        }
        systemd::stopping(settings.drain + settings.shutdown);
    };
    // Supervision runs on this thread, because the private PostgreSQL must be restarted by the thread that lives
    // longest.
    tokio::select! {
        () = Box::pin(server.run(stop)) => {}
        never = supervise(postgres, &database) => match never {},
        never = systemd::keep_watch(async || vitals.prove().await) => match never {},
    }
    outcome
}

/// Checks the settings, logs those that are a risk, and takes what the server needs of this machine.
fn prerequisites(settings: &Settings) -> Result<Prerequisites, StartError> {
    for Risk { told, remedy } in settings_check::check(settings)? {
        tracing::warn!("{told}: {remedy}");
    }
    Prerequisites::check(settings)
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
fn private_postgres(settings: &Settings) -> Result<Option<EmbeddedPostgres>, Failure> {
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

fn database_url(settings: &Settings, postgres: Option<&EmbeddedPostgres>) -> String {
    let chosen = settings.store.database_url.as_ref().map(|url| url.as_str().to_owned());
    chosen.or_else(|| postgres.map(EmbeddedPostgres::database_url)).unwrap_or_default()
}

fn at<'a>(url: &'a str, postgres: Option<&EmbeddedPostgres>) -> DatabaseAt<'a> {
    if postgres.is_some() { DatabaseAt::JustStarted(url) } else { DatabaseAt::Shared(url) }
}

async fn supervise(postgres: Option<&mut EmbeddedPostgres>, database: &Database) -> std::convert::Infallible {
    let Some(postgres) = postgres else { return std::future::pending().await };
    loop {
        // The disk is checked before the database is restarted, because PostgreSQL would end again on a full disk.
        database.set_room(postgres.check_disk());
        if let Some(free) = postgres.free_bytes() {
            database.set_free_bytes(free);
        }
        if let Err(error) = postgres.supervise() {
            tracing::error!(%error, "private postgresql cannot be started again");
        }
        tokio::time::sleep(SUPERVISION).await;
    }
}

/// The lines that a start prints: the address of the server and, at the first start, the generated passwords.
struct Greeting {
    base: String,
    introduced: Vec<NewUser>,
}

impl Greeting {
    /// Prints the address of the server, and where its data is if that is unexpected.
    fn begin(base: String, store: &StoreSettings) -> io::Result<Self> {
        writeln!(io::stdout(), "platform {} at {base}", env!("CARGO_PKG_VERSION"))?;
        if let Some(reason) = &store.relocated {
            writeln!(io::stdout(), "data in {}, because {reason}", store.data_dir.display())?;
        }
        Ok(Self { base, introduced: Vec::new() })
    }

    /// Prints a user of the first start and its password.
    fn introduce(&mut self, user: NewUser) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.introduced.is_empty() {
            writeln!(out, "\nFirst start. These passwords are shown once:")?;
        }
        writeln!(
            out,
            "  {:<30} {}",
            user.name,
            user.generated_password.as_deref().unwrap_or("(as configured)")
        )?;
        self.introduced.push(user);
        out.flush()
    }

    /// After a first start, prints commands to try. Then prints that the server is ready; scripts wait for this last
    /// line.
    fn end(&self) -> io::Result<()> {
        let (base, mut out) = (&self.base, io::stdout().lock());
        if let Some(admin) = self.introduced.iter().rev().find(|user| user.name.ends_with("/admin")) {
            let (name, program) = (&admin.name, std::env::args().next().unwrap_or_else(|| "platform".into()));
            writeln!(out, "\nTry it in a second terminal. The first line asks for the password.")?;
            // A password in a command line would stay in the history of the shell.
            writeln!(out, "  {program} login {base} --user {name}")?;
            writeln!(
                out,
                "  {program} device create --name pump -o id | {program} alarm create --type drip --text \"It \
                 drips\" --severity MAJOR"
            )?;
            writeln!(out, "  {program} alarm list --resolved false\n")?;
        }
        writeln!(out, "ready {base}")?;
        out.flush()
    }
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
        let database = Database::new(url, Connections { reads: 1, devices: 1 }, &settings.limits())?;
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
