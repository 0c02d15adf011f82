//! `platform demo`: a simulated fleet in a tenant of its own, at a server that it starts or that runs already.
//!
//! Everything that it does is a request of the API over HTTP. Reading order: [`fleet`] a demo from its begin to its end;
//! [`plan`] which devices there are, [`setup`] and [`past`] what they begin with, [`device`] the life of one with
//! [`unit`], [`report`], [`duty`] and [`listen`]; [`people`] who look after them; [`shape`], [`trouble`] and [`order`]
//! what things look like, [`chance`] why two demos are the same. [`account`] is the tenant, [`greeting`] what is printed.

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

use std::future::Future;
use std::io;
use std::process::ExitCode;

use platform_store::Database;
use tokio::runtime;
use tokio::sync::oneshot;

pub(crate) use account::remove_from;

use crate::administration::NewUser;
use crate::auth::password;
use crate::cli::DemoArguments;
use crate::client::failure::Failure;
use crate::client::profile::checked_url;
use crate::config::{Password, Settings};
use crate::secret_key;
use crate::start_error::StartError;
use crate::stop::stop_signal;
use fleet::Assignment;
use greeting::Greeting;

/// The filter of the log of a demo's server, unless another one is configured: what it prints for people stays legible.
const LOG: &str = "warn";

/// A demo with a server of its own.
pub(crate) struct Demo {
    arguments: DemoArguments,
    greeting: Greeting,
}

impl Demo {
    /// Returns the settings of the server of a demo, and the demo. All users of a new server have one password.
    ///
    /// # Errors
    /// This process may not open enough files.
    pub(crate) fn new(settings: &Settings, arguments: &DemoArguments) -> Result<(Settings, Self), String> {
        // Both ends of two connections of each device, and what a server needs besides.
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
        let greeting = Greeting { password: text, generated: generated.is_some(), has_new_server: false };
        Ok((settings, Self { arguments: arguments.clone(), greeting }))
    }

    /// Notes a user of a first start, and prints the password of all of them before anything can fail.
    ///
    /// # Errors
    /// The output has ended.
    pub(crate) fn introduce(&mut self, _: NewUser) -> io::Result<()> {
        self.greeting.begin()
    }

    /// Runs the demo beside its server, until `stop` resolves or the tenant is gone.
    ///
    /// # Errors
    /// The tenant cannot be made, or the server refuses the fleet.
    pub(crate) async fn run(
        self,
        base: &str,
        settings: &Settings,
        database: &Database,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let Self { arguments, greeting } = self;
        let key = secret_key::open(&settings.store, database).await?;
        let chosen = (!greeting.generated).then_some(greeting.password.as_str());
        let (operator, is_new) =
            Box::pin(account::prepare_in(database, &key, &greeting.password, chosen)).await?;
        let assignment =
            Assignment { url: base.into(), operator, devices: arguments.devices, seed: arguments.seed };
        let base = base.to_owned();
        let tell = move || greeting.end(&base, is_new);
        // The fleet has a thread of its own, because this one supervises the database.
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

/// Returns why the server of a demo does not start, with what a demo can do about it.
pub(crate) fn advised(error: StartError) -> Box<dyn std::error::Error> {
    match &error {
        StartError::Listen { address, cause, .. } if cause.kind() == io::ErrorKind::AddrInUse => format!(
            "{error}; if it is a server of platform, `platform demo --url http://{address}` gives it a demo"
        )
        .into(),
        _ => error.into(),
    }
}

/// Runs a demo at a server that runs already, or removes it there, and returns the exit code.
pub(crate) fn at_server(url: &str, arguments: &DemoArguments) -> ExitCode {
    let done = runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::from);
    let done = done.and_then(|runtime| runtime.block_on(run_at_server(url, arguments)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
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
    };
    let is_new = account.is_new;
    let assignment = Assignment {
        url: url.clone(),
        operator: (account.user, account.password),
        devices: arguments.devices,
        seed: arguments.seed,
    };
    let tell = move || greeting.end(&url, is_new);
    fleet::run(assignment, tell, stop).await
}
