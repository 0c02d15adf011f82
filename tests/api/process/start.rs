//! Start, first and later; settings that are refused.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::harness::{
    Caller, PrivatePostgres, Program, TestDatabase, run, scratch, scratch_with_data, within,
};

/// The users and passwords that were printed.
fn credentials(program: &Program) -> Vec<(String, String)> {
    let words = program.printed.iter().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let pairs = words.filter_map(|words| match words.as_slice() {
        [user, password] if user.contains('/') && !user.contains(':') => {
            Some(((*user).to_owned(), (*password).to_owned()))
        }
        _ => None,
    });
    pairs.collect()
}

/// The lines that a first start prints for people to paste.
fn lines_to_paste(program: &Program) -> Vec<String> {
    let after = program.printed.iter().skip_while(|line| !line.starts_with("Try it")).skip(1);
    after.take_while(|line| !line.is_empty()).cloned().collect()
}

#[tokio::test]
async fn first_start_prints_address_credentials_and_three_lines_to_paste() {
    let directory = scratch();

    let program = Program::serve(directory.path());

    let printed = program.printed.join("\n");
    assert!(program.base().starts_with("http://127.0.0.1:") && !program.base().ends_with(":0"), "{printed}");
    assert!(program.printed[0].contains(program.base()), "{printed}");
    let users: Vec<_> = credentials(&program).into_iter().map(|(user, _)| user).collect();
    assert_eq!(users, ["management/admin", "management/devicebootstrap", "main/admin"], "{printed}");
    let lines = lines_to_paste(&program);
    let has_password =
        |line: &String| credentials(&program).iter().any(|(_, password)| line.contains(password));
    assert!(!lines.iter().any(has_password), "the history of a shell keeps what is pasted: {printed}");
    assert!(lines.len() == 3 && lines[0].contains(program.base()), "{printed}");
    assert_eq!(program.printed.last().unwrap(), &format!("ready {}", program.base()));
    assert!(!program.log().contains("WARN"), "nothing is wrong with a new server: {}", program.log());
}

#[tokio::test]
async fn generated_passwords_work_and_are_stored_hashed() {
    let directory = scratch();

    let program = Program::serve(directory.path());

    for (user, password) in credentials(&program) {
        let status = Caller::new(program.base(), Some((&user, &password))).get("/alarm/alarms").await.status;
        let expected = if user.ends_with("/devicebootstrap") { 403 } else { 200 };
        assert_eq!(status, expected, "{user}");
        assert!(!program.log().contains(&password), "passwords are not logged");
    }
    assert_eq!(Caller::new(program.base(), Some(("admin", "admin"))).get("/alarm/alarms").await.status, 401);
}

#[tokio::test]
async fn printed_lines_work_when_pasted() {
    let directory = scratch();
    let program = Program::serve(directory.path());
    let script = format!("{} -o json", lines_to_paste(&program).join("\n"));

    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-c", &script]).env("XDG_CONFIG_HOME", directory.path());
    // At a terminal somebody types the password.
    let (_, password) = credentials(&program).pop().unwrap();
    let output = tokio::task::spawn_blocking(move || run(shell, &password));
    let output = within(Duration::from_secs(30), "the lines", output).await.unwrap();

    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let (_, open) = said.split_once("\n[\n").unwrap_or_else(|| panic!("{said}"));
    let open: Vec<serde_json::Value> = serde_json::from_str(&format!("[{open}")).unwrap();
    assert_eq!(open.len(), 1, "{said}");
}

#[tokio::test]
async fn second_start_prints_no_credentials_and_keeps_everything() {
    let directory = scratch();
    let (user, password, path) = {
        let mut program = Program::serve(directory.path());
        let (user, password) = credentials(&program).pop().unwrap();
        let caller = Caller::new(program.base(), Some((&user, &password)));
        let path = format!("/inventory/managedObjects/{}", caller.create_device("pump").await);
        program.signal(rustix::process::Signal::TERM);
        program.ended_within(Duration::from_secs(25)).await;
        (user, password, path)
    };

    let program = Program::serve(directory.path());

    assert!(credentials(&program).is_empty(), "{:#?}", program.printed);
    assert!(lines_to_paste(&program).is_empty(), "{:#?}", program.printed);
    let caller = Caller::new(program.base(), Some((&user, &password)));
    assert_eq!(caller.read(&path).await["name"], "pump");
}

#[tokio::test]
async fn servers_that_start_at_once_on_a_new_database_all_start_and_each_user_is_made_once() {
    let (database, directory) = (TestDatabase::create_empty().await, scratch());
    let starts: Vec<_> = (0..4)
        .map(|_| {
            let mut command = Program::command(directory.path(), &[]);
            command.env("PLATFORM_DATABASE_URL", database.url());
            tokio::task::spawn_blocking(move || Program::serve_with(command))
        })
        .collect();

    let mut programs = Vec::new();
    for start in starts {
        programs.push(start.await.expect("it starts"));
    }

    let mut users: Vec<_> = programs.iter().flat_map(credentials).collect();
    users.sort();
    let names: Vec<_> = users.iter().map(|(user, _)| user.as_str()).collect();
    assert_eq!(names, ["main/admin", "management/admin", "management/devicebootstrap"]);
    for program in &programs {
        let caller = Caller::new(program.base(), Some((&users[0].0, &users[0].1)));
        assert_eq!(caller.get("/alarm/alarms").await.status, 200, "all servers have the same key");
    }
    let standard = platform_model::applications::application::STANDARD.len();
    assert_eq!(database.count("applications").await, standard as i64);
}

#[tokio::test]
async fn configured_passwords_count_and_are_not_printed() {
    let directory = scratch();
    let mut command = Program::command(directory.path(), &["serve"]);
    command
        .env("PLATFORM_ADMIN_PASSWORD", "chosen-admin")
        .env("PLATFORM_BOOTSTRAP_PASSWORD", "chosen-bootstrap");

    let program = Program::serve_with(command);

    assert!(!program.printed.iter().any(|line| line.contains("chosen-")), "{:#?}", program.printed);
    for (user, password, status) in [
        ("admin", "chosen-admin", 201),
        ("management/admin", "chosen-admin", 201),
        ("management/devicebootstrap", "chosen-bootstrap", 403),
    ] {
        let caller = Caller::new(program.base(), Some((user, password)));
        assert_eq!(caller.post("/inventory/managedObjects", &json!({})).await.status, status, "{user}");
    }
}

#[tokio::test]
async fn database_of_the_operators_choice_is_used_instead_of_a_private_one() {
    let postgres = PrivatePostgres::start();
    let directory = scratch();

    let program =
        Program::serve_with(Program::command(directory.path(), &["--database-url", postgres.url()]));

    let (user, password) = credentials(&program).pop().unwrap();
    let caller = Caller::new(program.base(), Some((&user, &password)));
    caller.create_device("pump").await;
    let database = TestDatabase::at(postgres.url(), postgres.directory());
    assert_eq!(database.count("managed_objects").await, 1);
    assert!(!directory.path().join("data/postgres").exists());
}

#[tokio::test]
async fn unknown_and_malformed_settings_are_refused_with_their_names() {
    let directory = scratch();

    for (arguments, variable, named) in [
        (&[][..], Some(("PLATFORM_LISTNE", "127.0.0.1:0")), "PLATFORM_LISTNE"),
        (&[], Some(("PLATFORM_WORKERS", "many")), "PLATFORM_WORKERS"),
        (&[], Some(("PLATFORM_LISTEN", "here")), "PLATFORM_LISTEN"),
        (&["--wrokers", "2"], None, "--wrokers"),
        (&["serve", "--body-bytes", "0"], None, "--body-bytes"),
        (&["sevre"], None, "sevre"),
    ] {
        let mut command = Program::command(directory.path(), arguments);
        command.envs(variable);
        let output = run(command, "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(named), "{named}: {said}");
        assert!(output.stdout.is_empty() && !directory.path().join("data").exists(), "nothing was begun");
    }
}

#[tokio::test]
async fn second_server_on_the_same_data_is_refused() {
    let directory = scratch_with_data();
    let _running = Program::serve(directory.path());

    let output = run(Program::command(directory.path(), &[]), "");

    assert!(!output.status.success());
    assert!(!String::from_utf8_lossy(&output.stderr).is_empty());
}

#[tokio::test]
async fn help_explains_itself() {
    let directory = scratch();

    let output = run(Program::command(directory.path(), &["--help"]), "");

    let help = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for part in ["serve", "tenant", "user", "PLATFORM_LISTEN", "PLATFORM_DATABASE_URL", "127.0.0.1:8080"] {
        assert!(help.contains(part), "{part} is missing in\n{help}");
    }
}

#[tokio::test]
async fn server_may_open_as_many_files_as_the_system_lets_it() {
    let directory = scratch();
    let server = Program::command(directory.path(), &[]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -Sn 256 && exec \"$0\"", server.get_program().to_str().unwrap()]);
    limited.current_dir(directory.path()).env_clear().env("PATH", std::env::var("PATH").unwrap());
    for (name, value) in server.get_envs() {
        value.map(|value| limited.env(name, value));
    }

    let program = Program::serve_with(limited);

    let limits = std::fs::read_to_string(format!("/proc/{}/limits", program.pid())).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let [soft, hard] = [0, 1].map(|column| files.split_whitespace().nth(column).unwrap());
    assert_eq!(soft, hard, "{limits}");
}
