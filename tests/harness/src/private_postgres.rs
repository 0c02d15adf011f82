//! A PostgreSQL of one test, which can stop and start it.

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, mpsc};
use std::thread;

use platform_operator::embedded_postgres::{Durability, EmbeddedPostgres, Options};

use super::postgres::directory_of_this_run;
use super::program::{copy_data, postgres_programs, scratch};

/// A PostgreSQL with its own directory, running until it is stopped or dropped.
pub struct PrivatePostgres {
    orders: mpsc::Sender<Order>,
    done: mpsc::Receiver<()>,
    url: String,
    directory: tempfile::TempDir,
}

enum Order {
    Stop,
    Start,
}

/// The data of a PostgreSQL that was started once and stopped. Initializing one takes ten times as long as a copy.
static INITIALIZED: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = directory_of_this_run().join("initialized");
    drop(EmbeddedPostgres::start(options_in(&directory)).unwrap());
    directory
});

/// Returns the options of a PostgreSQL whose data need not survive a crash of the machine.
pub(super) fn options_in(directory: &Path) -> Options {
    let bin_dir = postgres_programs();
    Options { data_dir: directory.into(), bin_dir, durability: Durability::Disposable, least_free: 0 }
}

impl PrivatePostgres {
    /// Starts it.
    pub fn start() -> Self {
        let directory = scratch();
        copy_data(&INITIALIZED.join("."), directory.path(), "--sparse=auto");
        let options = options_in(directory.path());
        let (orders, received) = mpsc::channel();
        let (report, done) = mpsc::channel();
        let (tell_url, url) = mpsc::channel();
        // The kernel ends PostgreSQL when the thread that started it ends, so one thread starts and stops it.
        thread::spawn(move || {
            let mut postgres = Some(EmbeddedPostgres::start(options.clone()).unwrap());
            tell_url.send(postgres.as_ref().unwrap().database_url()).unwrap();
            for order in received {
                drop(postgres.take());
                if matches!(order, Order::Start) {
                    postgres = Some(EmbeddedPostgres::start(options.clone()).unwrap());
                }
                report.send(()).unwrap();
            }
        });
        let url = url.recv().expect("the thread of PostgreSQL prints its error");
        Self { orders, done, url, directory }
    }

    /// Returns the connection URL, which is the same after each start.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Stops it; connections are closed.
    pub fn stop(&self) {
        self.carry_out(Order::Stop);
    }

    /// Starts it again.
    pub fn start_again(&self) {
        self.carry_out(Order::Start);
    }

    fn carry_out(&self, order: Order) {
        self.orders.send(order).unwrap();
        self.done.recv().unwrap();
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        // The thread has ended if its PostgreSQL did not start.
        if self.orders.send(Order::Stop).is_ok() {
            self.done.recv().ok();
        }
    }
}
