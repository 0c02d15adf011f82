//! A tenant arrives in a deployment that has another secret key.

use std::sync::Arc;

use rustix::process::Signal;
use tempfile::TempDir;

use super::deployments::register;
use super::*;
use crate::harness::tenants::create_tenant;

const OPTION: &str = "/tenant/options/mail/credentials.password";
/// The time that a stop may take on a slow machine.
const STOP: Duration = Duration::from_secs(30);

/// A deployment whose first start made a key of its own.
struct Deployment {
    database: Arc<TestDatabase>,
    directory: TempDir,
    program: Program,
}

impl Deployment {
    async fn start() -> Self {
        let (database, directory) = (TestDatabase::create_empty().await, scratch());
        let program = Program::serve_with(Self::command(&database, directory.path(), &[]));
        Self { database, directory, program }
    }

    fn command(database: &TestDatabase, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Program::command_on(database, directory);
        command.args(arguments).env("PLATFORM_SECRET_KEY_FILE", directory.join("secret.key"));
        command.env("PLATFORM_ADMIN_PASSWORD", ADMIN_PASSWORD);
        command
    }

    fn key(&self) -> String {
        self.directory.path().join("secret.key").to_str().unwrap().to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Command {
        Self::command(&self.database, self.directory.path(), arguments)
    }

    /// Replaces the secret key while the server is stopped.
    async fn rotate(&mut self) {
        self.program.signal(Signal::TERM);
        assert!(self.program.ended_within(STOP).await.success(), "{}", self.program.log());
        succeed(self.run(&["admin", "secret", "rotate"]));
        self.program = Program::serve_with(self.run(&[]));
    }

    fn caller(&self, user: &str, password: &str) -> Caller {
        Caller::new(self.program.base(), Some((user, password)))
    }
}

/// Checks that a device logs in with the password that the first deployment generated, and that a secret can be read.
async fn goes_on(deployment: &Deployment, password: &str, option: &Value) {
    assert_ne!(deployment.caller("acme/device_sn-7", password).get(ALARMS).await.status, 401);
    assert_eq!(deployment.caller("acme/device_sn-7", "12345678901234567890").get(ALARMS).await.status, 401);
    let boss = deployment.caller("acme/boss", ADMIN_PASSWORD);
    assert_eq!(boss.read(OPTION).await["value"], option["value"]);
}

#[tokio::test]
async fn devices_and_secrets_of_a_tenant_are_known_in_deployments_with_other_keys() {
    let (scratch, source) = (scratch(), TestServer::start().await);
    let (mut second, third) = (Deployment::start().await, Deployment::start().await);
    let boss = create_tenant(&source, "acme").await;
    let password = register(&source, &boss, "sn-7").await;
    let option = json!({"category": "mail", "key": "credentials.password", "value": "s"});
    boss.create("/tenant/options", &option).await;
    let option = boss.read(OPTION).await;
    // Guesses before the tenant is there must not be remembered as wrong passwords of its devices.
    assert_eq!(second.caller("acme/device_sn-7", &password).get(ALARMS).await.status, 401);

    let to_second = |more: &[&str]| {
        moving(source.database(), &second.database, scratch.path(), &[&["acme"], more].concat())
    };
    refuse(to_second(&[]), "--to-secret-key-file");
    succeed(to_second(&["--to-secret-key-file", &second.key()]));
    goes_on(&second, &password, &option).await;
    second.rotate().await;
    goes_on(&second, &password, &option).await;

    let file = scratch.path().join("acme.tenant");
    let file = file.to_str().unwrap();
    succeed(second.run(&["admin", "tenant", "export", "acme", "--output", file]));
    let import = |more: &[&str]| third.run(&[&["admin", "tenant", "import", file], more].concat());
    refuse(import(&[]), "with --source-secret-key-file");
    succeed(import(&["--source-secret-key-file", &second.key()]));
    goes_on(&third, &password, &option).await;
}
