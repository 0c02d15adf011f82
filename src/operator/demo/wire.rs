//! The client of a device or an operator: requests of the API over a connection that is kept open.

use std::time::Duration;

use hyper::Request;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use platform_model::naming::naming;
use serde_json::Value;

use crate::client::content::Content;
use crate::client::failure::{Code, Failure};
use crate::client::http::{Response, Server};
use crate::client::profile::{Credentials, Profile};
use crate::client::words::Words;

/// The timeout of a response, except those of held polls.
const RESPONSE: Duration = Duration::from_secs(30);
/// The timeout of a held poll, longer than the server holds any.
const HELD: Duration = Duration::from_secs(3 * 3600);
/// The separator of the parts of a form, which occurs in none of them.
const BOUNDARY: &str = "platform-demo-boundary";

/// A client that acts as one user.
pub(super) struct Wire {
    server: Server,
}

impl Wire {
    /// # Errors
    /// The address is invalid.
    pub(super) fn of(url: &str, user: &str, password: &str) -> Result<Self, Failure> {
        Self::with(url, user, Credentials::Password(password.into()))
    }

    /// # Errors
    /// The address is invalid.
    pub(super) fn with(url: &str, user: &str, credentials: Credentials) -> Result<Self, Failure> {
        let (user, words) = (user.into(), Words::default());
        let profile = Profile { url: url.into(), user, credentials, words, authorities: None };
        Ok(Self { server: Server::of(profile)? })
    }

    /// Returns the underlying connection.
    pub(super) fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// Reads an object or a page.
    ///
    /// # Errors
    /// There is no response, or its status is an error. The same holds for the functions below.
    pub(super) async fn read(&mut self, path: &str) -> Result<Value, Failure> {
        self.server.expect("GET", path, None).await?.json()
    }

    /// Creates an object and returns it.
    pub(super) async fn create(&mut self, path: &str, body: Value) -> Result<Value, Failure> {
        self.server.expect("POST", path, Some(&Content::Json(body))).await?.json()
    }

    /// Changes an object.
    pub(super) async fn change(&mut self, path: &str, body: Value) -> Result<(), Failure> {
        self.server.expect("PUT", path, Some(&Content::Json(body))).await.map(drop)
    }

    /// Sends a text, such as a module or the file of an event.
    pub(super) async fn put_text(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        self.server.expect("POST", path, Some(&Content::Text(text.into()))).await.map(drop)
    }

    /// Stores many measurements at once without notifications.
    pub(super) async fn store_quietly(&mut self, path: &str, body: &Value) -> Result<(), Failure> {
        let mode = naming().header("Processing-Mode");
        let headers = [(CONTENT_TYPE.as_str(), "application/json"), (&mode, "QUIESCENT")];
        self.post(path, &headers, body.to_string(), RESPONSE).await.map(drop)
    }

    /// Sends rows of the CSV protocol and returns the lines of the response.
    pub(super) async fn rows(&mut self, path: &str, rows: String) -> Result<String, Failure> {
        let set = naming().fragment("Static");
        let headers =
            [(CONTENT_TYPE.as_str(), "text/plain"), (ACCEPT.as_str(), "text/plain"), ("X-Id", &set)];
        let patience = if rows.starts_with("83,") { HELD } else { RESPONSE };
        let response = self.post(path, &headers, rows, patience).await?;
        Ok(String::from_utf8_lossy(&response.body).into_owned())
    }

    /// Registers the devices of a CSV file and returns the result for its rows.
    pub(super) async fn register(&mut self, file: &str) -> Result<Value, Failure> {
        let form = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"devices.csv\"\r\n\
             Content-Type: text/csv\r\n\r\n{file}\r\n--{BOUNDARY}--\r\n"
        );
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let headers = [(CONTENT_TYPE.as_str(), kind.as_str()), (ACCEPT.as_str(), "application/json")];
        self.post("/devicecontrol/bulkNewDeviceRequests", &headers, form, HELD).await?.json()
    }

    async fn post(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
        patience: Duration,
    ) -> Result<Response, Failure> {
        let request =
            headers.iter().fold(Request::post(path), |request, (name, value)| request.header(*name, *value));
        let (body, _) = Content::Text(body).body()?;
        let request = request.body(body).map_err(|error| Failure::new(Code::Failed, error.to_string()))?;
        let response = self.server.exchange(request, patience).await?;
        match response.status {
            200..=299 => Ok(response),
            status => Err(Failure::of_response(status, &response.body)),
        }
    }
}
