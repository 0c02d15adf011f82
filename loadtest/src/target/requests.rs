//! Builds complete requests to a server, with the credentials of its user.

use super::{ACCEPT, Target};

/// The media type of JSON.
const JSON: &str = "application/json";
/// The boundary between the parts of a form.
const BOUNDARY: &str = "loadtest-f2b1c9d47a";

impl Target {
    /// Returns a complete POST request with a JSON body that requests JSON.
    pub(crate) fn post(&self, path: &str, body: &str) -> Vec<u8> {
        self.request("POST", ACCEPT, path, JSON, body)
    }

    /// Returns a complete POST request with a JSON body and these complete header lines.
    pub(crate) fn post_with(&self, headers: &str, path: &str, body: &str) -> Vec<u8> {
        self.request("POST", headers, path, JSON, body)
    }

    /// Returns a complete POST request with the minimum of headers and these complete header lines.
    pub(crate) fn post_bare(&self, headers: &str, path: &str, body: &str) -> Vec<u8> {
        self.complete("POST", path, headers, body.as_bytes())
    }

    /// Returns a complete POST request with a text as its body that requests JSON.
    pub(crate) fn post_text(&self, path: &str, text: &str) -> Vec<u8> {
        self.request("POST", ACCEPT, path, "text/plain;charset=UTF-8", text)
    }

    /// Returns a complete POST request with a file as the only part of a form that requests JSON.
    pub(crate) fn post_file(&self, path: &str, part: &str, file: &str) -> Vec<u8> {
        self.post_form(path, ACCEPT, (part, "csv", "text/csv"), file.as_bytes())
    }

    /// Returns a complete POST request with an archive as the part `file` of a form.
    pub(crate) fn post_archive(&self, path: &str, archive: &[u8]) -> Vec<u8> {
        self.post_form(path, "", ("file", "zip", "application/zip"), archive)
    }

    /// Returns a complete POST request with a form of one part, given its name, extension and media type.
    fn post_form(
        &self,
        path: &str,
        headers: &str,
        (part, extension, media_type): (&str, &str, &str),
        content: &[u8],
    ) -> Vec<u8> {
        let before = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{part}\"; filename=\"{part}.{extension}\"\r\n\
             Content-Type: {media_type}\r\n\r\n"
        );
        let form = [before.as_bytes(), content, format!("\r\n--{BOUNDARY}--\r\n").as_bytes()].concat();
        let headers = format!("{headers}Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n");
        self.complete("POST", path, &headers, &form)
    }

    /// Returns a complete PUT request with a JSON body that requests JSON.
    pub(crate) fn put(&self, path: &str, body: &str) -> Vec<u8> {
        self.request("PUT", ACCEPT, path, JSON, body)
    }

    /// Returns a complete PUT request with a JSON body that requests a response without a body.
    pub(crate) fn put_quietly(&self, path: &str, body: &str) -> Vec<u8> {
        self.request("PUT", "", path, JSON, body)
    }

    fn request(&self, method: &str, headers: &str, path: &str, content_type: &str, body: &str) -> Vec<u8> {
        let headers = format!("{headers}Content-Type: {content_type}\r\n");
        self.complete(method, path, &headers, body.as_bytes())
    }

    /// Returns a complete GET request; `path` may be a complete link.
    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        let path = path.strip_prefix(&self.url()).unwrap_or(path);
        self.head("GET", path, ACCEPT, "").into_bytes()
    }

    /// Returns a complete GET request for a stream of server-sent events, with these complete header lines.
    pub(crate) fn get_events(&self, path: &str, headers: &str) -> Vec<u8> {
        self.head("GET", path, &format!("Accept: text/event-stream\r\n{headers}"), "").into_bytes()
    }

    /// Returns a complete DELETE request.
    pub(crate) fn delete(&self, path: &str) -> Vec<u8> {
        self.head("DELETE", path, ACCEPT, "").into_bytes()
    }

    fn complete(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let length = format!("Content-Length: {}\r\n", body.len());
        [self.head(method, path, headers, &length).as_bytes(), body].concat()
    }

    /// Returns a head with the credentials, unless they are a certificate, and these complete header lines.
    fn head(&self, method: &str, path: &str, headers: &str, length: &str) -> String {
        let Self { authority, authorization, .. } = self;
        let credentials = match &**authorization {
            "" => String::new(),
            authorization => format!("Authorization: {authorization}\r\n"),
        };
        format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\n{credentials}{headers}{length}\r\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Reach;

    #[test]
    fn file_travels_as_a_part_of_a_form() {
        let target =
            Target::resolve("http://127.0.0.1:8080", Reach::Loopback, "main/admin", "secret").unwrap();
        let request = String::from_utf8(target.post_file("/x", "file", "ID\n1\n")).unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n")),
            "{head}"
        );
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        let (opened, rest) = body.split_once("\r\n\r\n").unwrap();
        assert!(
            opened.starts_with(&format!("--{BOUNDARY}\r\n")) && opened.contains("name=\"file\""),
            "{opened}"
        );
        assert_eq!(rest, format!("ID\n1\n\r\n--{BOUNDARY}--\r\n"));
    }
}
