//! Runs the server, beside it the private PostgreSQL and the simulated fleet of a demo, and reports to the operator.

use std::io::{self, Write};
use std::time::Duration;

use actix_rt::System;
use platform_front::config::{Settings, StoreSettings};
use platform_front::prerequisites::Prerequisites;
use platform_front::start_error::StartError;
use platform_front::stop::stop_signal;
use platform_front::telemetry;
use platform_operator::administration::{self, NewUser};
use platform_operator::demo::{self, Demo};
use platform_operator::embedded_postgres::EmbeddedPostgres;
use platform_operator::program::{Failure, database_url, private_postgres};
use platform_operator::settings_check::{self, Risk};
use platform_operator::{open_files, systemd};
use platform_store::Database;
use platform_web::server::{DatabaseAt, ListeningServer, Server};

/// The interval at which the private PostgreSQL is supervised.
const SUPERVISION: Duration = Duration::from_millis(500);

/// Runs a server until SIGTERM or Ctrl-C, and beside it the simulated fleet of a demo.
///
/// # Errors
/// The reason why the server did not start, or why the demo failed.
pub fn serve(settings: &Settings, mut demo: Option<Demo>) -> Result<(), Failure> {
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
    let server = Server::start(settings, listening).await?;
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
            Some(demo) => outcome = demo.run(&base, settings, &database, Box::pin(stop_signal)).await,
            None => stop_signal.await,
        }
        systemd::stopping(settings.drain + settings.shutdown);
    };
    // Supervision runs on this thread, because the private PostgreSQL must be restarted by the thread that lives
    // longest.
    tokio::select! {
        () = server.run(Box::pin(stop)) => {}
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
