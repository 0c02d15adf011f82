//! The `platform` program.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use actix_web::rt::System;
use platform::administration::{self, FirstStart, NewUser};
use platform::cli::{self, Command};
use platform::config::Settings;
use platform::embedded_postgres::{Durability, EmbeddedPostgres, Options, running_database_url};
use platform::server::{Server, agree_on_secret_key, secret_key};
use platform::telemetry;
use platform_actors::store::{Connections, Database};
use tokio::signal::unix::{SignalKind, signal};

/// What ends the program early, told to the operator as it is.
type Failure = Box<dyn std::error::Error>;

/// How often the private PostgreSQL is looked after.
const SUPERVISION: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let command = cli::parse();
    let outcome = match command {
        Command::Serve(settings) => serve(&settings),
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
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            writeln!(io::stderr(), "error: {failure}").ok();
            ExitCode::FAILURE
        }
    }
}

/// `platform serve`: runs until SIGTERM or Ctrl-C.
fn serve(settings: &Settings) -> Result<(), Failure> {
    telemetry::start_logging(settings)?;
    platform_actors::naming::install(settings.naming())
        .map_err(|_| "the vendor words were read before they were set")?;
    let mut postgres = private_postgres(settings)?;
    let url = database_url(settings, postgres.as_ref());
    let served = System::new().block_on(async {
        let told_to_stop = told_to_stop()?;
        let server = Box::pin(Server::start(settings, &url)).await?;
        announce(&server)?;
        // On this thread: the private PostgreSQL must be started again by the thread that lives longest.
        tokio::select! {
            () = server.run(told_to_stop) => {}
            never = supervise(postgres.as_mut()) => match never {},
        }
        Ok(())
    });
    if let Some(postgres) = &mut postgres {
        postgres.stop();
    }
    served
}

/// Without a database of its own choice the server runs one.
fn private_postgres(settings: &Settings) -> Result<Option<EmbeddedPostgres>, Failure> {
    if settings.store.database_url.is_some() {
        return Ok(None);
    }
    Ok(Some(EmbeddedPostgres::start(Options {
        data_dir: settings.store.data_dir.clone(),
        bin_dir: settings.store.postgres_bin_dir.clone(),
        durability: Durability::Durable,
    })?))
}

fn database_url(settings: &Settings, postgres: Option<&EmbeddedPostgres>) -> String {
    let chosen = settings.store.database_url.as_ref().map(|url| url.as_str().to_owned());
    chosen.or_else(|| postgres.map(EmbeddedPostgres::database_url)).unwrap_or_default()
}

async fn supervise(postgres: Option<&mut EmbeddedPostgres>) -> std::convert::Infallible {
    let Some(postgres) = postgres else { return std::future::pending().await };
    loop {
        tokio::time::sleep(SUPERVISION).await;
        if let Err(error) = postgres.supervise() {
            tracing::error!(%error, "private postgresql cannot be started again");
        }
    }
}

/// Resolves at SIGTERM or Ctrl-C. Listens from the moment it is made: who reads `ready` may stop the server at once.
fn told_to_stop() -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("stopping");
    })
}

/// Says where the server is and, once, how to get in. The last line is for scripts that wait for it.
fn announce(server: &Server) -> io::Result<()> {
    let base = server.base();
    let mut out = io::stdout().lock();
    writeln!(out, "platform {} at {base}", env!("CARGO_PKG_VERSION"))?;
    if let Some(FirstStart { users }) = server.first_start() {
        writeln!(out, "\nFirst start. These passwords are shown once:")?;
        for user in users {
            writeln!(out, "  {:<30} {}", user.name, shown(user))?;
        }
        let admin = users.iter().rev().find(|user| user.name.ends_with("/admin"));
        let password =
            admin.and_then(|user| user.generated_password.as_deref()).unwrap_or("$PLATFORM_ADMIN_PASSWORD");
        let (name, json) = (admin.map_or("admin", |user| &*user.name), "'Content-Type: application/json'");
        writeln!(out, "\nTry it: a device, an alarm, and what is open.")?;
        writeln!(
            out,
            "  ID=$(curl -s -u \"{name}:{password}\" -H {json} -H 'Accept: application/json' -d '{{\"name\":\"pump\",\"plat_IsDevice\":{{}}}}' {base}/inventory/managedObjects | sed 's/.*\"id\":\"\\([0-9]*\\)\".*/\\1/'); echo \"$ID\""
        )?;
        writeln!(
            out,
            "  curl -s -i -u \"{name}:{password}\" -H {json} -d '{{\"type\":\"leak\",\"text\":\"It drips\",\"severity\":\"MAJOR\",\"time\":\"'$(date -u +%FT%TZ)'\",\"source\":{{\"id\":\"'$ID'\"}}}}' {base}/alarm/alarms; echo"
        )?;
        writeln!(out, "  curl -s -u \"{name}:{password}\" '{base}/alarm/alarms?resolved=false'\n")?;
    }
    writeln!(out, "ready {base}")?;
    out.flush()
}

fn shown(user: &NewUser) -> &str {
    user.generated_password.as_deref().unwrap_or("(as configured)")
}

/// Runs one of the administrator's commands, beside a running server or without one, and prints what it tells.
fn administer<T: std::fmt::Display>(
    settings: &Settings,
    command: impl AsyncFnOnce(&Database, &platform::auth::password::SecretKey) -> platform_actors::Result<T>,
) -> Result<(), Failure> {
    let running = settings.store.database_url.as_ref().map(|url| url.as_str().to_owned());
    let running = running.or_else(|| running_database_url(&settings.store.data_dir));
    let mut postgres = if running.is_some() { None } else { private_postgres(settings)? };
    let url = running.unwrap_or_else(|| database_url(settings, postgres.as_ref()));
    let done = System::new().block_on(async {
        let database = Database::new(&url, Connections { reads: 1, devices: 1 }, &settings.limits())?;
        database.migrate().await?;
        let key = secret_key(settings)?;
        agree_on_secret_key(&database, &key).await?;
        let told = command(&database, &key).await?.to_string();
        if !told.is_empty() {
            writeln!(io::stdout(), "{told}")?;
        }
        Ok(())
    });
    if let Some(postgres) = &mut postgres {
        postgres.stop();
    }
    done
}
