//! The log-in of a person with a second factor (docs/rules.md#c-27).

use std::process::Command;

use super::*;
use crate::harness::authenticator::{Person, TOKENS};

/// The message of a command that nobody can be asked for a code.
const NOBODY: &str = "has a second factor, and nobody can be asked for a code";

/// A tenant with a person that has a second factor, and a directory without a log-in.
struct Desk {
    server: TestServer,
    joe: Person,
    user: String,
    directory: tempfile::TempDir,
}

impl Desk {
    async fn new() -> Self {
        let server = TestServer::shared().await;
        let roles = ["ROLE_INVENTORY_READ", "ROLE_INVENTORY_ADMIN", "ROLE_USER_MANAGEMENT_OWN_READ"];
        let joe = Person::of(server.user_with("joe", &roles).await).await;
        let user = format!("{}/joe", server.tenant());
        Self { server, joe, user, directory: scratch_with_data() }
    }

    fn here(&self) -> &Path {
        self.directory.path()
    }

    /// Logs in with further arguments, and with the password from a pipe.
    fn log_in(&self, further: &[&str]) -> Output {
        let login = ["login", self.server.base(), "--user", &self.user];
        client(self.here(), &[&login, further].concat(), ADMIN_PASSWORD)
    }

    /// Logs in with a code that does not count, and returns the message.
    fn denied(&self, further: &[&str]) -> String {
        let output = self.log_in(further);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{further:?}: {message}");
        assert!(!self.here().join("platform/profiles.json").exists(), "{further:?}");
        message
    }

    /// Returns the token in the profile, which has no password.
    fn token(&self) -> String {
        let stored = std::fs::read_to_string(self.here().join("platform/profiles.json")).unwrap();
        assert!(!stored.contains(ADMIN_PASSWORD), "{stored}");
        let profiles: Value = serde_json::from_str(&stored).unwrap();
        profiles["profiles"]["default"]["tokenOfCode"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn code_exchanges_the_password_for_a_token_of_twelve_hours_until_the_log_out() {
    let desk = Desk::new().await;

    let output = desk.log_in(&["--code", &desk.joe.next_code()]);

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let joe = desk.server.stranger().with_token(&desk.token());
    let current = joe.read(&format!("{TOKENS}/current")).await;
    assert!(current["expiresIn"].as_u64().unwrap() > 11 * 3600, "{current}");
    assert!(current["name"].as_str().unwrap().starts_with("Commands"), "{current}");
    printed(desk.here(), &["device", "create", "--name", "pump"], "");
    let listed = printed(desk.here(), &["profile", "list"], "");
    assert!(listed.contains(&desk.user), "{listed}");

    printed(desk.here(), &["logout"], "");

    joe.get("/user/currentUser").await.expect(401);
}

#[tokio::test]
async fn recovery_code_logs_in_once() {
    let desk = Desk::new().await;
    let code = ["--code", &desk.joe.recovery_codes[0]];
    assert!(desk.log_in(&code).status.success());
    printed(desk.here(), &["device", "list"], "");
    std::fs::remove_file(desk.here().join("platform/profiles.json")).unwrap();

    let message = desk.denied(&code);

    assert!(message.contains("the code is wrong or was used before"), "{message}");
}

#[tokio::test]
async fn log_in_without_a_code_says_how_to_give_one_and_one_with_a_wrong_code_that_it_is_wrong() {
    let desk = Desk::new().await;

    let message = desk.denied(&[]);
    assert!(message.contains(NOBODY), "{message}");
    let remedy = format!("`platform login {} --user {} --code CODE`", desk.server.base(), desk.user);
    assert!(message.contains(&remedy), "{message}");
    for wrong in [desk.joe.wrong_code(), desk.joe.confirmation.clone()] {
        let message = desk.denied(&["--code", &wrong]);
        assert!(message.contains("the code is wrong or was used before"), "{message}");
    }
    let login = ["login", desk.server.base(), "--user", &desk.user, "--code", "1\n2"];
    assert_eq!(refused(desk.here(), &login, ADMIN_PASSWORD).0, 2);
    let (code, message) = refused(desk.here(), &login, "another password\n");
    assert!(code == 4 && message.contains("has another password"), "{code} {message}");
}

#[tokio::test]
async fn after_too_many_wrong_codes_the_command_says_that_a_recovery_code_counts() {
    let desk = Desk::new().await;
    for _ in 0..5 {
        desk.joe.log_in(&desk.joe.wrong_code()).await.expect(401);
    }

    let output = desk.log_in(&["--code", &desk.joe.next_code()]);

    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(6), "{message}");
    assert!(message.contains("wrong codes") && message.contains("a recovery code counts"), "{message}");
    assert!(desk.log_in(&["--code", &desk.joe.recovery_codes[0]]).status.success());
}

#[tokio::test]
async fn somebody_at_a_terminal_is_asked_for_a_code_three_times_at_most() {
    let desk = Desk::new().await;
    let (wrong, right) = (desk.joe.wrong_code(), desk.joe.next_code());
    let login = format!("platform login {} --user {}", desk.server.base(), desk.user);
    let asked = |told: &str| told.matches("Code of the authenticator, or a recovery code: ").count();

    let typing = [ADMIN_PASSWORD, &wrong, &wrong, &wrong, ""].join("\n");
    let Some(refused) = typed(desk.here(), &login, &typing) else { return };
    let told = String::from_utf8(refused.stdout).unwrap();
    assert_eq!((refused.status.code(), asked(&told)), (Some(4), 3), "{told}");

    let accepted = typed(desk.here(), &login, &[ADMIN_PASSWORD, &wrong, &right, ""].join("\n")).unwrap();
    let told = String::from_utf8(accepted.stdout).unwrap();
    assert_eq!((accepted.status.code(), asked(&told)), (Some(0), 2), "{told}");
    desk.token();
    printed(desk.here(), &["device", "list"], "");

    // Standard input is the pipe with the password, so somebody types the code at the terminal.
    let piped = format!("sh -c 'echo {ADMIN_PASSWORD} | {login}'");
    let accepted = typed(desk.here(), &piped, &format!("{}\n", desk.joe.recovery_codes[0])).unwrap();
    assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stdout));
}

#[tokio::test]
async fn code_is_ignored_where_there_is_no_second_factor_and_refused_beside_an_identity_provider() {
    let (server, directory) = logged_in().await;
    let here = directory.path();
    let login = ["login", server.base(), "--user", &format!("{}/admin", server.tenant()), "--code", "000000"];
    printed(here, &login, ADMIN_PASSWORD);

    let stored = std::fs::read_to_string(here.join("platform/profiles.json")).unwrap();
    assert!(stored.contains(ADMIN_PASSWORD), "{stored}");
    assert_eq!(refused(here, &["login", server.base(), "--sso", "--code", "000000"], "").0, 2);
}

#[tokio::test]
async fn command_says_that_a_log_in_ended_or_needs_a_code_or_a_second_factor() {
    let desk = Desk::new().await;
    assert!(desk.log_in(&["--code", &desk.joe.next_code()]).status.success());
    desk.server.stranger().with_token(&desk.token()).delete(TOKENS).await.expect(204);
    let (code, message) = refused(desk.here(), &["device", "list"], "");
    let again = format!("`platform login {} --user {}` logs in again", desk.server.base(), desk.user);
    assert!(code == 4 && message.contains("has ended") && message.contains(&again), "{code} {message}");

    let with_variables = |user: &str| {
        let mut command: Command = Program::command(desk.here(), &["device", "list"]);
        command.env("XDG_CONFIG_HOME", desk.here()).env("PLATFORM_URL", desk.server.base());
        command.env("PLATFORM_USER", user).env("PLATFORM_PASSWORD", ADMIN_PASSWORD);
        let output = run(command, "");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) = with_variables(&desk.user);
    assert!(code == Some(4) && message.contains("`platform login` asks for a code"), "{message}");

    let admin = desk.server.admin();
    let group = json!({"name": "careful", "secondFactor": "REQUIRED"});
    let group = admin.create("/user/<tenant>/groups", &group).await;
    desk.server.user_with("mia", &["ROLE_INVENTORY_READ"]).await;
    let users = format!("/user/<tenant>/groups/{}/users", group["id"]);
    admin.create(&users, &json!({"user": {"userName": "mia"}})).await;
    let (code, message) = with_variables(&desk.user.replace("joe", "mia"));
    assert!(code == Some(4) && message.contains("set it up in the console"), "{message}");
}
