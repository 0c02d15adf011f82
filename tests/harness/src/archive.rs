//! Zip archives built byte by byte, including malformed ones that no tool creates; and their upload.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::rest::{Caller, Response};

/// The Unix mode of a regular file.
const REGULAR: u32 = 0o100_644;
/// The Unix mode of a directory.
const DIRECTORY: u32 = 0o040_755;
/// The Unix mode of a symbolic link.
pub const LINK: u32 = 0o120_777;

/// A file of an archive; tests set its faults by hand.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: Vec<u8>,
    pub packed: Vec<u8>,
    pub method: u16,
    pub crc: u32,
    pub length: u32,
    pub flags: u16,
    pub mode: u32,
    /// The name in the file's local header, if it differs from the one in the central directory.
    pub other_name: Option<Vec<u8>>,
    /// The offset in the central directory, if it is wrong.
    pub other_offset: Option<u32>,
    /// The compressed size in the central directory, if it is wrong.
    pub other_size: Option<u32>,
}

impl Entry {
    /// Returns an uncompressed file.
    pub fn stored(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        let mut crc = flate2::Crc::new();
        crc.update(content);
        Self {
            name: name.as_ref().to_vec(),
            packed: content.to_vec(),
            method: 0,
            crc: crc.sum(),
            length: content.len() as u32,
            flags: 0x800,
            mode: if name.as_ref().ends_with(b"/") { DIRECTORY } else { REGULAR },
            other_name: None,
            other_offset: None,
            other_size: None,
        }
    }

    /// Returns a deflated file.
    pub fn deflated(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content.as_ref()).unwrap();
        Self { packed: encoder.finish().unwrap(), method: 8, ..Self::stored(name, content) }
    }

    /// Returns the numbers that the local header and the central directory have in common.
    fn common(&self) -> Vec<u8> {
        let mut bytes = vec![20, 0];
        bytes.extend([self.flags, self.method, 0, 0].map(u16::to_le_bytes).concat());
        let size = self.other_size.unwrap_or(self.packed.len() as u32);
        bytes.extend([self.crc, size, self.length].map(u32::to_le_bytes).concat());
        bytes
    }
}

/// Returns an archive of these files.
pub fn archive(entries: &[Entry]) -> Vec<u8> {
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = entry.other_offset.unwrap_or(bytes.len() as u32);
        let name = entry.other_name.as_ref().unwrap_or(&entry.name);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(entry.common());
        bytes.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        bytes.extend(name);
        bytes.extend(&entry.packed);
        list.extend(b"PK\x01\x02\x14\x03");
        list.extend(entry.common());
        list.extend([entry.name.len() as u16, 0, 0, 0, 0].map(u16::to_le_bytes).concat());
        list.extend([entry.mode << 16, offset].map(u32::to_le_bytes).concat());
        list.extend(&entry.name);
    }
    let (size, start) = (list.len() as u32, bytes.len() as u32);
    bytes.extend(list);
    bytes.extend(end_of_archive(entries.len() as u16, size, start));
    bytes
}

/// Returns the record at the end of an archive, with `entries` in a central directory of `size` bytes at
/// `start`.
pub fn end_of_archive(entries: u16, size: u32, start: u32) -> Vec<u8> {
    let mut bytes = b"PK\x05\x06\0\0\0\0".to_vec();
    bytes.extend([entries, entries].map(u16::to_le_bytes).concat());
    bytes.extend([size, start].map(u32::to_le_bytes).concat());
    bytes.extend([0, 0]);
    bytes
}

/// Returns an archive of these files with an `index.html`.
pub fn web_archive(files: &[(&str, &str)]) -> Vec<u8> {
    let index = Entry::deflated("index.html", "<!doctype html><title>Start</title>");
    let has_index = files.iter().any(|(name, _)| *name == "index.html");
    let files = files.iter().map(|(name, content)| Entry::deflated(name, content));
    let entries: Vec<_> = (!has_index).then_some(index).into_iter().chain(files).collect();
    archive(&entries)
}

/// Returns an archive of a microservice with this manifest.
pub fn service_archive(manifest: &str) -> Vec<u8> {
    archive(&[Entry::deflated("platform.json", manifest), Entry::stored("image.tar", "an image")])
}

/// Returns a form with one part; its boundary is `b`.
pub fn form(part: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("--b\r\nContent-Disposition: form-data; name=\"{part}\"; filename=\"a.zip\"\r\n\r\n");
    [head.as_bytes(), content, b"\r\n--b--\r\n"].concat()
}

/// Uploads an archive for an application, without requesting it back.
pub async fn upload(caller: &Caller, application: &str, archive: &[u8]) -> Response {
    let path = format!("/application/applications/{application}/binaries");
    let request = caller.request("POST", &path).header("Content-Type", "multipart/form-data; boundary=b");
    request.body(form("file", archive)).send().await
}
