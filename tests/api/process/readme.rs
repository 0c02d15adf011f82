//! README.md and the guides: the blocks of each document are pasted, in order, into one shell against a fresh server of
//! its own, and print what the document shows.
//!
//! A document begins with a block that contains the address of the server and passwords: the `…` of `PASSWORD=…` stands
//! for the password that the first start printed. Blocks of `sh` are pasted, and the `text` block after each is its
//! expected output, where `…` stands for anything within a line. A `text` block before all others is the expected
//! output of the start. Blocks of `bash` are not run.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::*;

/// The timeout of the blocks of one document, long enough for a busy machine.
const DOCUMENT: Duration = Duration::from_secs(300);

/// The line that the shell prints after each block, with the status of the block's last command.
const END: &str = "=== end of a block, status";

/// The variables that documents hold passwords in, and the users whose passwords these are.
const PASSWORDS: [(&str, &str); 3] = [
    ("PASSWORD", "main/admin "),
    ("MANAGEMENT", "management/admin "),
    ("BOOTSTRAP", "management/devicebootstrap "),
];

/// One test for each document, so that they run at the same time.
macro_rules! documents {
    ($($test:ident: $path:literal,)*) => {
        pub(super) const DOCUMENTS: &[&str] = &[$($path),*];
        $(#[tokio::test]
        async fn $test() {
            blocks_print_what_is_shown($path).await;
        })*
    };
}

documents! {
    blocks_of_the_readme_print_what_it_shows: "README.md",
    blocks_about_devices_print_what_is_shown: "docs/guide/devices.md",
    blocks_about_the_inventory_print_what_is_shown: "docs/guide/inventory.md",
    blocks_about_csv_print_what_is_shown: "docs/guide/csv.md",
    blocks_about_notifications_print_what_is_shown: "docs/guide/notifications.md",
    blocks_about_consumers_print_what_is_shown: "docs/guide/consumers.md",
    blocks_about_tenants_print_what_is_shown: "docs/guide/tenants.md",
    blocks_about_applications_print_what_is_shown: "docs/guide/applications.md",
    blocks_about_tokens_print_what_is_shown: "docs/guide/tokens.md",
    blocks_about_identity_print_what_is_shown: "docs/guide/identity.md",
    blocks_about_modules_print_what_is_shown: "docs/guide/modules.md",
    blocks_about_operation_print_what_is_shown: "docs/guide/operation.md",
    blocks_about_growing_print_what_is_shown: "docs/guide/growing.md",
    blocks_about_the_command_line_print_what_is_shown: "docs/guide/command-line.md",
    blocks_about_the_console_print_what_is_shown: "docs/guide/console.md",
    blocks_about_the_demo_print_what_is_shown: "docs/guide/demo.md",
    blocks_about_compatibility_print_what_is_shown: "docs/guide/compatibility.md",
    blocks_about_the_reference_print_what_is_shown: "docs/guide/reference.md",
}

/// A document with blocks.
struct Document {
    /// The block that shows the output of the start.
    greeting: Option<String>,
    steps: Vec<Step>,
}

/// A block to paste and the block with its expected output.
struct Step {
    heading: String,
    commands: String,
    shown: String,
}

impl Document {
    fn parse(text: &str) -> Self {
        let mut document = Self { greeting: None, steps: Vec::new() };
        let (mut heading, mut lines) = ("", text.lines());
        while let Some(line) = lines.next() {
            let mut block =
                || lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            match line {
                "```sh" => document.steps.push(Step {
                    heading: heading.to_owned(),
                    commands: block(),
                    shown: String::new(),
                }),
                "```text" => match document.steps.last_mut() {
                    Some(step) => step.shown = block(),
                    None => document.greeting = Some(block()),
                },
                line if line.starts_with("## ") => heading = line,
                _ => {}
            }
        }
        document
    }

    /// Returns all blocks as one script, which prints a line at the end of each.
    fn script(&self) -> String {
        let told = |step: &Step| format!("{}printf '{END} %s\\n' \"$?\"\n", step.commands);
        self.steps.iter().map(told).collect()
    }
}

/// Returns the output and the exit status of each block.
fn by_block(printed: &str) -> Vec<(String, &str)> {
    let (mut blocks, mut block) = (Vec::new(), String::new());
    for line in printed.lines() {
        match line.strip_prefix(END) {
            Some(status) => blocks.push((std::mem::take(&mut block), status.trim())),
            None => block.extend([line, "\n"]),
        }
    }
    blocks
}

/// Returns whether all lines are as expected.
fn is_as_shown(printed: &str, shown: &str) -> bool {
    printed.lines().count() == shown.lines().count()
        && printed.lines().zip(shown.lines()).all(|(printed, shown)| fits(printed, shown))
}

/// Returns whether a line is as expected; `…` stands for anything.
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

/// A program that the blocks of this text need beside `platform`, and that is not installed.
fn missing_program(text: &str) -> Option<&'static str> {
    let absent = |name: &&str| Command::new(name).arg("--version").output().is_err();
    let needed = ["curl", "sed", "python3", "node", "openssl", "pg_basebackup"]
        .into_iter()
        .filter(|name| text.contains(name));
    ["bash"].into_iter().chain(needed).find(absent)
}

/// A file of this project.
pub(super) fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub(super) fn read(path: &str) -> String {
    std::fs::read_to_string(in_project(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns a text with the address of this server, its passwords, and a free port in place of 9000.
fn filled_in(text: &str, program: &Program, free: u16) -> String {
    let address = program.base().strip_prefix("http://").unwrap();
    let text = text.replace("9000", &free.to_string()).replace("127.0.0.1:8080", address);
    PASSWORDS.iter().fold(text, |text, (variable, user)| {
        let told = program.printed.iter().find_map(|line| line.trim().strip_prefix(user));
        let password = told.unwrap_or_else(|| panic!("{user} in {:#?}", program.printed)).trim();
        text.replace(&format!("{variable}=…"), &format!("{variable}={password}"))
    })
}

/// A fresh shell in this directory that finds `platform`.
fn shell(directory: &Path) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_platform")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let before = [built.to_owned()].into_iter().chain(postgres_programs());
    let path = std::env::join_paths(before.chain(std::env::split_paths(&path))).unwrap();
    let mut shell = Command::new("bash");
    remove_settings(&mut shell);
    shell.current_dir(directory).env("PATH", path).env("no_proxy", "*");
    shell.env("XDG_CONFIG_HOME", directory.join("configuration"));
    shell
}

/// A shell. When it is dropped, it and all processes that it started are killed.
struct Pasted(Child);

impl Drop for Pasted {
    fn drop(&mut self) {
        if let Some(group) = self.0.id().try_into().ok().and_then(Pid::from_raw) {
            // All processes may have ended by themselves.
            kill_process_group(group, Signal::KILL).ok();
        }
        self.0.wait().ok();
    }
}

/// Runs commands in a shell and returns its standard output and standard error. A variable that the commands do not set
/// is an error.
async fn paste(directory: &Path, path: &str, commands: &str) -> (String, String) {
    let (printed, said) = (directory.join("printed"), directory.join("said"));
    let mut shell = shell(directory);
    shell.args(["-u", "-c", commands]).stdin(Stdio::null());
    shell.stdout(File::create(&printed).unwrap()).stderr(File::create(&said).unwrap());
    let mut pasted = Pasted(shell.process_group(0).spawn().unwrap());
    eventually_within(DOCUMENT, path, async || pasted.0.try_wait().unwrap()).await;
    let (printed, said) = (std::fs::read_to_string(printed).unwrap(), std::fs::read_to_string(said).unwrap());
    assert!(!said.contains("unbound variable"), "{path}\n{printed}\n{said}");
    (printed, said)
}

async fn blocks_print_what_is_shown(path: &str) {
    let text = read(path);
    if let Some(missing) = missing_program(&text) {
        eprintln!("SKIPPED: {missing} is not installed, so the blocks of {path} were not tried");
        return;
    }
    let document = Document::parse(&text);
    let first = document.steps.first().unwrap_or_else(|| panic!("{path} has no block"));
    assert!(
        first.commands.contains("BASE=http://127.0.0.1:8080"),
        "{path}: the first block says where the server is"
    );
    let directory = scratch_with_data();
    let mut command = Program::command(directory.path(), &[]);
    // The default data directory of `platform`.
    command.env("PLATFORM_DATA_DIR", directory.path().join("platform-data"));
    // This is longer than a busy machine takes from one curl to the next.
    command.env("PLATFORM_SESSION_INTERVAL_MS", "120000");
    let program = Program::serve_with(command);
    let free = free_port();
    let here = |text: &str| filled_in(text, &program, free);
    if let Some(greeting) = &document.greeting {
        let (printed, shown) = (program.printed.join("\n"), here(greeting));
        assert!(is_as_shown(&printed, &shown), "{path}\n--- shown\n{shown}\n--- printed\n{printed}");
    }

    let script = here(&document.script());
    assert!(!script.contains('…'), "{path}: something that nobody can paste\n{script}");
    let (printed, said) = paste(directory.path(), path, &script).await;

    let blocks = by_block(&printed);
    for (step, (printed, status)) in document.steps.iter().zip(&blocks) {
        let shown = here(&step.shown);
        assert!(
            *status == "0" && is_as_shown(printed, &shown),
            "{path} {}, status {status}\n--- shown\n{shown}\n--- printed\n{printed}\n--- said\n{said}",
            step.heading
        );
    }
    assert_eq!(blocks.len(), document.steps.len(), "{path}: the shell went to the end\n{printed}\n{said}");
}

#[test]
fn every_guide_is_tried() {
    for entry in std::fs::read_dir(in_project("docs/guide")).unwrap() {
        let path = format!("docs/guide/{}", entry.unwrap().file_name().to_string_lossy());
        assert!(DOCUMENTS.contains(&&*path), "{path} is not in the table of this file");
    }
}

#[test]
fn readme_is_a_front_page() {
    let bytes = read("README.md").len();
    assert!(
        bytes <= 7_000,
        "README.md has {bytes} bytes: what is more than a front page belongs into docs/guide"
    );
}

/// Returns the code spans of a text, except those in code blocks.
fn code_spans(text: &str) -> Vec<&str> {
    let outside_of_blocks = text.split("\n```").step_by(2);
    let lines =
        outside_of_blocks.flat_map(|part| part.split_once('\n').map_or("", |(_, lines)| lines).lines());
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn settings_that_the_guides_name_are_those_of_the_program() {
    let help = Command::new(env!("CARGO_BIN_EXE_platform")).arg("--help").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let known: Vec<&str> = help.split(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c))).collect();
    for path in DOCUMENTS.iter().filter(|path| path.starts_with("docs/guide/")) {
        let text = read(path);
        let settings = code_spans(&text).into_iter().filter_map(|span| span.split([' ', '=', '<']).next());
        for setting in settings.filter(|word| word.starts_with("--") || word.starts_with("PLATFORM_")) {
            assert!(known.contains(&setting), "{path} names {setting}, which `platform --help` does not");
        }
    }
}

/// All sources of the server, as one text.
fn sources() -> String {
    let (mut sources, mut directories) = (String::new(), vec![in_project("src"), in_project("actors")]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path())
            } else {
                sources.push_str(&std::fs::read_to_string(entry.path()).unwrap())
            }
        }
    }
    // A long text goes on in the next line after a backslash.
    sources.split("\\\n").map(str::trim_start).collect()
}

#[test]
fn log_lines_and_metrics_of_the_guide_are_those_of_the_program() {
    let (text, sources) = (read("docs/guide/operation.md"), sources());
    let (_, log) = text.split_once("## What the log says").unwrap();
    let (log, _) = log.split_once("\n## ").unwrap();
    let first_cells = log.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
    let lines: Vec<&str> =
        first_cells.flat_map(|(cell, _)| cell.trim_end_matches('`').split("`, `")).collect();
    let metrics: Vec<&str> =
        code_spans(&text).into_iter().filter(|span| span.starts_with("platform_")).collect();
    assert!(lines.len() > 10 && metrics.len() > 10, "both are found");
    for told in lines.into_iter().chain(metrics) {
        assert!(sources.contains(told), "the guide tells of `{told}`, which is not in the sources");
    }
}

#[test]
fn blocks_of_a_document_are_distinguished() {
    let document =
        Document::parse("```text\nready\n```\n## One\n```sh\na\nb\n```\n```bash\nx\n```\n```text\nc\n```\n");

    assert_eq!(document.greeting.as_deref(), Some("ready\n"));
    let [step] = document.steps.as_slice() else { panic!("one block") };
    assert_eq!((&*step.heading, &*step.commands, &*step.shown), ("## One", "a\nb\n", "c\n"));
    let printed = format!("c\n{END} 0\n{END} 1\nd\n");
    assert_eq!(by_block(&printed), [("c\n".to_owned(), "0"), (String::new(), "1")]);
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
