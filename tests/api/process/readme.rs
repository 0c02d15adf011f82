//! The blocks of README.md, each pasted into a fresh shell, in order, against one fresh server: they print what README shows.
//!
//! A block of `sh` is pasted; the block of `text` after it is what it prints, where `…` stands for anything within a line. Blocks
//! of `bash` are for people alone.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{Program, eventually_within, scratch};

const README: &str = include_str!("../../../README.md");

/// How long one block may take on a busy machine.
const BLOCK: Duration = Duration::from_secs(180);

/// A block to paste and the one that shows what it prints.
struct Step {
    heading: String,
    commands: String,
    shown: String,
}

/// Every step of a text, in order.
fn steps(text: &str) -> Vec<Step> {
    let (mut steps, mut heading, mut lines) = (Vec::<Step>::new(), "", text.lines());
    while let Some(line) = lines.next() {
        let mut block =
            || lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        match line {
            "```sh" => {
                steps.push(Step { heading: heading.to_owned(), commands: block(), shown: String::new() })
            }
            "```text" => steps.last_mut().expect("a block is shown before what it prints").shown = block(),
            line if line.starts_with("## ") => heading = line,
            _ => {}
        }
    }
    steps
}

/// Whether a line is as shown; `…` stands for anything.
fn fits(printed: &str, shown: &str) -> bool {
    let Some((start, rest)) = shown.split_once('…') else { return printed == shown };
    let Some(mut left) = printed.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('…').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = left.split_once(part) else { return false };
        left = behind;
    }
    left.ends_with(end)
}

/// Programs that the blocks need beside `platform`.
fn missing_program() -> Option<&'static str> {
    let absent = |name: &&str| Command::new(name).arg("--version").output().is_err();
    ["bash", "curl", "sed", "python3"].into_iter().find(absent)
}

/// The password that the first start printed for a user.
fn password<'a>(program: &'a Program, user: &str) -> &'a str {
    let told = program.printed.iter().find_map(|line| line.trim().strip_prefix(user));
    told.unwrap_or_else(|| panic!("{user} in {:#?}", program.printed)).trim()
}

/// A fresh shell in this directory, as the README prepares one.
fn shell(directory: &Path, program: &Program) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_platform")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths([built.to_owned()].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let mut shell = Command::new("bash");
    // What the tests are run with is no setting of the program.
    for (variable, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PLATFORM_"))
    {
        shell.env_remove(variable);
    }
    shell.current_dir(directory).env("PATH", path).env("no_proxy", "*");
    shell.env("PLATFORM_DATA_DIR", directory.join("data"));
    for (variable, user) in [
        ("PASSWORD", "main/admin "),
        ("MANAGEMENT", "management/admin "),
        ("BOOTSTRAP", "management/devicebootstrap "),
    ] {
        shell.env(variable, password(program, user));
    }
    shell
}

/// Runs commands in a shell and gives its standard output and standard error. A variable that the commands do not set is an error.
async fn paste(mut shell: Command, directory: &Path, commands: &str) -> (String, String) {
    let (printed, said) = (directory.join("printed"), directory.join("said"));
    shell.args(["-u", "-c", commands]).stdin(Stdio::null());
    shell.stdout(File::create(&printed).unwrap()).stderr(File::create(&said).unwrap());
    let mut child = shell.spawn().unwrap();
    let status = eventually_within(BLOCK, commands, async || child.try_wait().unwrap()).await;
    let (printed, said) = (std::fs::read_to_string(printed).unwrap(), std::fs::read_to_string(said).unwrap());
    assert!(status.success(), "{status}\n{commands}\n{printed}\n{said}");
    assert!(!said.contains("unbound variable"), "{commands}\n{said}");
    (printed, said)
}

#[tokio::test]
async fn blocks_of_the_readme_print_what_it_shows() {
    if let Some(missing) = missing_program() {
        eprintln!("SKIPPED: {missing} is not installed, so the blocks of README.md were not tried");
        return;
    }
    let directory = scratch();
    let mut command = Program::command(directory.path(), &[]);
    // Longer than a busy machine takes from one curl to the next.
    command.env("PLATFORM_SESSION_INTERVAL_MS", "120000");
    let program = Program::serve_with(command);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let address = program.base().strip_prefix("http://").unwrap();
    let here = |text: &str| text.replace("127.0.0.1:8080", address).replace("9000", &free);
    let steps = steps(README);
    assert!(steps.len() > 5, "the blocks are found");

    for Step { heading, commands, shown } in steps {
        let (commands, shown) = (here(&commands), here(&shown));
        let (printed, said) = paste(shell(directory.path(), &program), directory.path(), &commands).await;

        let wrong: Vec<_> =
            shown.lines().zip(printed.lines()).filter(|(shown, printed)| !fits(printed, shown)).collect();
        assert!(
            wrong.is_empty() && shown.lines().count() == printed.lines().count(),
            "{heading}\n--- shown\n{shown}\n--- printed\n{printed}\n--- said\n{said}\n--- other than shown: {wrong:#?}"
        );
    }
}

#[test]
fn dots_stand_for_anything_in_a_line_that_is_shown() {
    for (printed, shown, fit) in [
        ("abc", "abc", true),
        ("abc", "ab", false),
        ("abc", "…", true),
        ("abc", "a…", true),
        ("abc", "…b…", true),
        ("abc", "…c", true),
        ("abc", "…b", false),
        ("abcbd", "a…b…d", true),
        ("ab", "a…b…b", false),
        ("", "…", true),
    ] {
        assert_eq!(fits(printed, shown), fit, "{printed} {shown}");
    }
}
