//! Builds the console (console/README.md) and lists its files. Without Node 18 or newer and npm,
//! or when the packages cannot be installed, the list is empty: the server works without the console, and `/`
//! explains how to build it.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The oldest major version of Node that can build the console.
const OLDEST_NODE: u32 = 18;
/// The parts of console/ that are built. A change of anything else does not cause another build.
const SOURCES: [&str; 5] = ["package.json", "package-lock.json", "build.mjs", "index.html", "src"];
/// The part of console/ that determines which packages are installed.
const LOCK: &str = "package-lock.json";
/// The media types of the files of the console, by the end of their names.
const MEDIA_TYPES: [(&str, &str); 4] = [
    ("html", "text/html;charset=UTF-8"),
    ("js", "text/javascript;charset=UTF-8"),
    ("css", "text/css;charset=UTF-8"),
    ("svg", "image/svg+xml"),
];

/// Builds the console in the directory `console`, if that is possible.
///
/// # Errors
/// A mistake in the console, or an output directory that cannot be written.
pub(crate) fn make(console: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=BUILD_CONSOLE");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", console.join(source).display());
    }
    let files = match prepare(console, &out.join("console")) {
        Ok(workshop) => build(&workshop)?,
        Err(reason) => {
            println!("cargo::warning=the server is built without its console: {reason}");
            Vec::new()
        }
    };
    fs::write(out.join("console_files.rs"), listed(&files)?)?;
    Ok(())
}

/// Copies the sources to a directory below OUT_DIR and installs their packages there, because a build changes nothing
/// in the directory of the sources. Packages are installed only when the lock file differs from that of the last
/// installation.
///
/// # Errors
/// The reason why there is no console.
fn prepare(console: &Path, workshop: &Path) -> Result<PathBuf, String> {
    if env::var("BUILD_CONSOLE").is_ok_and(|wanted| wanted == "no") {
        return Err("BUILD_CONSOLE is no".into());
    }
    let version = output_of("node", "--version")?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    if !matches!(major, Some(OLDEST_NODE..)) {
        return Err(format!("it needs Node {OLDEST_NODE} or newer, and this is {}", version.trim()));
    }
    output_of("npm", "--version")?;
    let copied = |error: std::io::Error| format!("its sources cannot be copied: {error}");
    fs::create_dir_all(workshop).map_err(copied)?;
    fs::remove_dir_all(workshop.join("src")).ok();
    for source in SOURCES {
        copy(&console.join(source), &workshop.join(source)).map_err(copied)?;
    }
    let wanted = fs::read(console.join(LOCK)).map_err(copied)?;
    let installed = workshop.join("installed.json");
    if fs::read(&installed).is_ok_and(|lock| lock == wanted) {
        return Ok(workshop.to_owned());
    }
    fs::remove_file(&installed).ok();
    let arguments = ["ci", "--omit=dev", "--no-audit", "--no-fund", "--ignore-scripts"];
    let npm = Command::new("npm").args(arguments).current_dir(workshop).output();
    let npm = npm.map_err(|error| format!("npm cannot be run: {error}"))?;
    if !npm.status.success() {
        let said = String::from_utf8_lossy(&npm.stderr);
        let cause = said.lines().find(|line| line.contains("error")).unwrap_or("no reason given").to_owned();
        return Err(format!("npm could not install its packages ({cause})"));
    }
    fs::write(&installed, wanted).map_err(copied)?;
    Ok(workshop.to_owned())
}

fn output_of(program: &str, argument: &str) -> Result<String, String> {
    let output = Command::new(program).arg(argument).output();
    let output = output.map_err(|error| format!("{program} is not installed ({error})"))?;
    if !output.status.success() {
        return Err(format!("{program} {argument} ended with {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// Runs build.mjs and returns the files that it wrote. A mistake in the console fails the build.
fn build(workshop: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let (dist, script) = (workshop.join("dist"), workshop.join("build.mjs"));
    fs::remove_dir_all(&dist).ok();
    let node = Command::new("node").arg(&script).arg(&dist).current_dir(workshop).output()?;
    if !node.status.success() {
        return Err(format!("the console cannot be built:\n{}", String::from_utf8_lossy(&node.stderr)).into());
    }
    let files: Result<Vec<_>, _> =
        fs::read_dir(&dist)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = files?;
    files.retain(|file| file.extension().is_none_or(|end| end != "gz"));
    files.sort();
    Ok(files)
}

/// Returns the files as a Rust expression: a list of `File`.
fn listed(files: &[PathBuf]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from("&[\n");
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).ok_or("a name that is not text")?;
        let end = name.rsplit('.').next().unwrap_or_default();
        let known = MEDIA_TYPES.into_iter().find(|(known, _)| *known == end);
        let (_, media_type) =
            known.ok_or_else(|| format!("{name} has no media type in src/content/build/console.rs"))?;
        let plain = file.to_str().ok_or("a path that is not text")?;
        writeln!(
            text,
            "    File {{ name: {name:?}, media_type: {media_type:?}, plain: include_bytes!({plain:?}), \
             gzip: include_bytes!({:?}) }},",
            format!("{plain}.gz"),
        )?;
    }
    text.push(']');
    Ok(text)
}
