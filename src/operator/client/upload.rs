//! `upload`, `replace` and `download`: the files of events and of the inventory, and the archives of applications.

use std::fs::File;
use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};

use clap::{Arg, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use platform_front::terminal::print;
use serde_json::Value;

use super::body::bodies;
use super::commands::ID;
use super::content::{Content, Upload};
use super::failure::{Code, Failure};
use super::reference::{FileBody, Operation};
use super::requests::{Command, Request};

const FILE: &str = "FILE";
const MEDIA_TYPE: &str = "media-type";
/// The size in bytes from which a progress bar is shown.
const LONG: u64 = 1 << 20;

/// Adds the arguments of `upload` and `replace`.
pub(super) fn arguments(command: clap::Command, operation: &Operation) -> clap::Command {
    let id = Arg::new(ID).required(true).help("Id of the object that the file belongs to");
    let command = if operation.variables().next().is_some() { command.arg(id) } else { command };
    let file = Arg::new(FILE).required(true).value_parser(value_parser!(PathBuf)).help("Path of the file");
    let media_type = Arg::new(MEDIA_TYPE).long(MEDIA_TYPE).value_name("TYPE");
    command
        .arg(file)
        .arg(media_type.help("Media type, such as text/plain [default: by the name of the file]"))
}

/// Adds the arguments of `download`.
pub(super) fn arguments_of_download(command: clap::Command) -> clap::Command {
    let file = Arg::new(FILE).value_parser(value_parser!(PathBuf));
    command
        .arg(Arg::new(ID).required(true).help("Id of the object that the file belongs to"))
        .arg(file.help("Path of a new file [default: print it]"))
}

impl Command<'_> {
    /// Sends a file and prints the response of the server.
    ///
    /// # Errors
    /// The file cannot be read, or the request fails.
    pub(super) async fn upload(&mut self) -> Result<(), Failure> {
        let file = self.matches.get_one::<PathBuf>(FILE).expect("clap requires a file");
        let media_type = self.matches.get_one::<String>(MEDIA_TYPE).cloned();
        let media_type =
            media_type.unwrap_or_else(|| mime_guess::from_path(file).first_or_octet_stream().to_string());
        let mut upload = match self.operation.file {
            Some(FileBody::FormWithObject) => {
                Upload::form(file, &media_type, Some(&self.object(file, &media_type)?))?
            }
            Some(FileBody::Form) => Upload::form(file, &media_type, None)?,
            _ => Upload::raw(file, &media_type)?,
        };
        let shown = upload.length() >= LONG && stderr().is_terminal();
        if shown && !self.is_dry_run() {
            let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}");
            upload.bar = ProgressBar::new(upload.length());
            upload.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        }
        let bar = upload.bar.clone();
        let path = self
            .path(self.matches.try_get_one::<String>(ID).ok().flatten().map_or("", String::as_str))
            .await?;
        let request = Request::only(path, Some(Content::File(upload)));
        let sent = self.send_all(vec![request]).await;
        bar.finish_and_clear();
        sent
    }

    /// Prints the content of a file, or stores it under a new name.
    ///
    /// # Errors
    /// The request fails, or a file of this name exists.
    pub(super) async fn download(&mut self) -> Result<(), Failure> {
        let path = self.path(self.matches.get_one::<String>(ID).map_or("", String::as_str)).await?;
        if self.is_dry_run() {
            return self.describe(&[Request::only(path, None)]);
        }
        let file = self.matches.get_one::<PathBuf>(FILE);
        let failed = |error: std::io::Error, file: &Path| {
            Failure::new(Code::Failed, format!("{}: {error}", file.display()))
        };
        // An existing file is not replaced. The new one is created only after the response has arrived.
        if let Some(file) = file.filter(|file| file.exists()) {
            return Err(Failure::new(Code::Conflict, format!("{} exists", file.display())));
        }
        let response = self.server.expect("GET", &path, None).await?;
        match file {
            Some(file) => {
                let created =
                    File::create_new(file).and_then(|mut created| created.write_all(&response.body));
                created.map_err(|error| failed(error, file))
            }
            None => Ok(print(&response.body)?),
        }
    }

    /// Returns the managed object for a file.
    fn object(&self, file: &Path, media_type: &str) -> Result<Value, Failure> {
        let mut objects = bodies(self.noun, &self.operation, self.matches, &self.server.words)?;
        let (Some(mut object), true) = (objects.pop(), objects.is_empty()) else {
            return Err(Failure::usage("--data has several objects; a file has one"));
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        for (member, value) in [("name", &*name), ("type", media_type)] {
            if object[member].is_null() {
                object[member] = value.into();
            }
        }
        Ok(object)
    }
}
