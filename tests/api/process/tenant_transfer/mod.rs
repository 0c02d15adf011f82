//! `platform admin tenant export` and `platform admin tenant import` (Z-21), `platform admin tenant move` (Z-22).

mod deployments;
mod every_table;
mod fenced;
mod moved;
mod other_keys;
mod refused;
mod replaced;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::backup::{refuse, succeed};
use super::*;

const EXPORT: [&str; 3] = ["admin", "tenant", "export"];
const IMPORT: [&str; 3] = ["admin", "tenant", "import"];
const MOVE: [&str; 3] = ["admin", "tenant", "move"];

/// Returns a command on a database.
fn on(database: &TestDatabase, directory: &Path, command: &[&str], arguments: &[&str]) -> Command {
    let mut of_program = Program::command_on(database, directory);
    of_program.args(command).args(arguments);
    of_program
}

/// Returns the command that moves a tenant from one database to another.
fn moving(source: &TestDatabase, target: &TestDatabase, directory: &Path, arguments: &[&str]) -> Command {
    on(source, directory, &MOVE, &[arguments, &["--to", target.url()]].concat())
}

/// Exports a tenant to a new file and returns its path.
fn export(database: &TestDatabase, directory: &Path, tenant: &str, file: &str) -> PathBuf {
    succeed(on(database, directory, &EXPORT, &[tenant, "--output", file]));
    directory.join(file)
}

/// Returns the manifest of a file.
fn manifest_of(file: &Path) -> Value {
    serde_json::from_slice(&entry_of(file, "manifest.json")).unwrap()
}

fn entry_of(file: &Path, name: &str) -> Vec<u8> {
    let mut content = Vec::new();
    let mut archive = ZipArchive::new(File::open(file).unwrap()).unwrap();
    archive.by_name(name).unwrap().read_to_end(&mut content).unwrap();
    content
}

/// Writes a copy of a file with another manifest, or another entry, and returns its path.
fn changed(file: &Path, name: &str, entry: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let path = file.with_extension(name);
    let archive = ZipArchive::new(File::open(file).unwrap()).unwrap();
    let names: Vec<_> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    let mut written = ZipWriter::new(File::create(&path).unwrap());
    for name in names {
        let content = entry_of(file, &name);
        written.start_file(&*name, SimpleFileOptions::default()).unwrap();
        written.write_all(&if name == entry { change(content) } else { content }).unwrap();
    }
    written.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

/// Writes a copy of a file with another manifest and returns its path.
fn with_manifest(file: &Path, name: &str, change: impl Fn(&mut Value)) -> String {
    changed(file, name, "manifest.json", |text| {
        let mut manifest = serde_json::from_slice(&text).unwrap();
        change(&mut manifest);
        manifest.to_string().into_bytes()
    })
}
