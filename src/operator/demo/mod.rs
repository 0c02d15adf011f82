//! `platform demo`: a simulated fleet in a tenant of its own, either at a server that the demo starts or at a running
//! one.
//!
//! The fleet uses the API over HTTP only. Reading order: [`fleet`] runs a demo from its start to its end. [`plan`]
//! lists the devices; [`setup`] registers them and [`past`] stores data of the last day. [`device`] runs one device,
//! with [`unit`], [`report`], [`duty`] and [`listen`]. [`people`] simulates operators. [`shape`], [`trouble`] and
//! [`order`] define measured values, faults and operations, and [`chance`] makes random numbers that can be repeated.
//! [`account`] creates the tenant, and [`greeting`] prints the texts for people.

mod account;
mod chance;
mod device;
mod duty;
mod fleet;
mod greeting;
mod listen;
mod order;
mod past;
mod people;
mod plan;
mod report;
mod setup;
mod shape;
mod trouble;
mod unit;
mod wire;
mod world;

use std::io;
use std::process::ExitCode;

use futures_util::future::LocalBoxFuture;
use platform_front::config::{Password, Settings};
use platform_front::secrets::password;
use platform_front::secrets::secret_key;
use platform_front::start_error::StartError;
use platform_front::stop::stop_signal;
use platform_front::terminal::say;
use platform_store::Database;
use tokio::runtime;
use tokio::sync::oneshot;

pub use account::remove_from;

use crate::administration::NewUser;
use crate::cli::DemoArguments;
use crate::client::failure::Failure;
use crate::client::profile::checked_url;
use fleet::Assignment;
use greeting::Greeting;

/// The log filter of a demo's own server, unless another one is configured: with fewer log lines, the texts for people
/// stay readable.
const LOG: &str = "warn";

/// A demo that starts its own server.
pub struct Demo {
    arguments: DemoArguments,
    greeting: Greeting,
}

impl Demo {
    /// Returns the settings of the server of the demo, and the demo. All users of a new server get the same password.
    ///
    /// # Errors
    /// The limit of open files is too low for the fleet.
    pub fn new(settings: &Settings, arguments: &DemoArguments) -> Result<(Settings, Self), String> {
        // Each device has two connections, and this process has both ends of each. The server needs some files more.
        fleet::open_files(u64::from(arguments.devices) * 4 + 400)?;
        let chosen = arguments.password.as_ref().or(settings.admin_password.as_ref());
        let generated = chosen.is_none().then(password::generate);
        let text =
            chosen.map_or_else(|| generated.clone().unwrap_or_default(), |chosen| chosen.as_str().to_owned());
        let password: Password = text.parse()?;
        let mut settings = settings.clone();
        settings.bootstrap_password.get_or_insert_with(|| password.clone());
        settings.admin_password = Some(password);
        if settings.log == Settings::default().log {
            settings.log = LOG.into();
        }
        let data_dir = settings.store.data_dir.display();
        let greeting = Greeting {
            password: text,
            generated: generated.is_some(),
            has_new_server: false,
            removal: format!("demo --data-dir {data_dir} --remove"),
        };
        Ok((settings, Self { arguments: arguments.clone(), greeting }))
    }

    /// Called for each user that the first start creates; prints the password, before a later step of the start can
    /// fail.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn introduce(&mut self, _: NewUser) -> io::Result<()> {
        self.greeting.begin()
    }

    /// Runs the fleet beside the server until `stop` resolves or the tenant has been deleted.
    ///
    /// # Errors
    /// The tenant cannot be created, or the server rejects the fleet.
    pub fn run<'a>(
        self,
        base: &'a str,
        settings: &'a Settings,
        database: &'a Database,
        stop: LocalBoxFuture<'a, ()>,
    ) -> LocalBoxFuture<'a, Result<(), Box<dyn std::error::Error>>> {
        Box::pin(self.simulate(base, settings, database, stop))
    }

    async fn simulate(
        self,
        base: &str,
        settings: &Settings,
        database: &Database,
        stop: LocalBoxFuture<'_, ()>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let Self { arguments, greeting } = self;
        let key = Box::pin(secret_key::open(&settings.store, database)).await?;
        let chosen = (!greeting.generated).then_some(greeting.password.as_str());
        let (operator, is_new) =
            Box::pin(account::prepare_in(database, &key, &greeting.password, chosen)).await?;
        let assignment =
            Assignment { url: base.into(), operator, devices: arguments.devices, seed: arguments.seed };
        let base = base.to_owned();
        let tell = move || greeting.end(&base, is_new);
        // The fleet runs on a thread of its own, because this thread supervises the database.
        let ((end, ended), (result, mut outcome)) = (oneshot::channel::<()>(), oneshot::channel());
        let thread = std::thread::Builder::new().name("demo".into()).spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::from);
            let stop = async { ended.await.unwrap_or_default() };
            let done = runtime.and_then(|runtime| runtime.block_on(fleet::run(assignment, tell, stop)));
            result.send(done).ok();
        })?;
        let done = tokio::select! {
            done = &mut outcome => done,
            () = stop => {
                end.send(()).ok();
                outcome.await
            }
        };
        thread.join().map_err(|_| "the simulated fleet ended unexpectedly")?;
        done?.map_err(|failure| failure.without_prefix().into())
    }
}

/// Returns the error of a server start with advice for users of the demo.
pub fn advised(error: StartError) -> Box<dyn std::error::Error> {
    match &error {
        StartError::Listen { address, cause, .. } if cause.kind() == io::ErrorKind::AddrInUse => format!(
            "{error}; if it is a server of platform, `platform demo --url http://{address}` gives it a demo"
        )
        .into(),
        _ => error.into(),
    }
}

/// Runs a demo at a running server, or removes it from there, and returns the exit code.
pub fn at_server(url: &str, arguments: &DemoArguments) -> ExitCode {
    let done = runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::from);
    let done = done.and_then(|runtime| runtime.block_on(run_at_server(url, arguments)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure);
            failure.exit_code()
        }
    }
}

async fn run_at_server(url: &str, arguments: &DemoArguments) -> Result<(), Failure> {
    let url = checked_url(url)?;
    if arguments.remove {
        return account::remove_at(&url, &arguments.user).await;
    }
    fleet::open_files(u64::from(arguments.devices) * 2 + 100).map_err(Failure::usage)?;
    let stop = stop_signal()?;
    let chosen = arguments.password.as_ref().map(|password| password.as_str().to_owned());
    let account = account::prepare_at(&url, &arguments.user, chosen).await?;
    let greeting = Greeting {
        password: account.password.clone(),
        generated: account.is_generated,
        has_new_server: false,
        removal: format!("demo --url {url} --remove"),
    };
    let is_new = account.is_new;
    let assignment = Assignment {
        url: url.clone(),
        operator: (account.user, account.password),
        devices: arguments.devices,
        seed: arguments.seed,
    };
    let tell = move || greeting.end(&url, is_new);
    Box::pin(fleet::run(assignment, tell, stop)).await
}
