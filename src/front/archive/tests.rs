//! Tests of what no client can observe: how much of a rejected archive is read, and that no bytes make the reader
//! panic.

use std::cell::Cell;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};

use platform_model::error::{Error, Result};
use proptest::prelude::*;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::disk::Disk;
use super::{Archive, Sink};

const LIMIT: u64 = 1 << 20;

/// The unpacked files by path.
#[derive(Default)]
struct Files(Vec<(String, Vec<u8>)>);

impl Sink for Files {
    fn begin(&mut self, path: &str) -> Result<()> {
        self.0.push((path.to_owned(), Vec::new()));
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.last_mut().expect("a file began").1.extend_from_slice(bytes);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A file that counts the bytes that are read.
struct Counted<'a> {
    file: Cursor<&'a [u8]>,
    read: &'a Cell<usize>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.set(self.read.get() + count);
        Ok(count)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, position: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(position)
    }
}

fn made_elsewhere() -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    writer.add_directory("docs/", stored).expect("a directory");
    for (path, options) in [("index.html", packed), ("docs/ä.txt", stored), ("empty", packed)] {
        writer.start_file(path, options).expect("a file");
        if path != "empty" {
            writer.write_all(&path.repeat(100).into_bytes()).expect("its content");
        }
    }
    writer.finish().expect("an archive").into_inner()
}

fn unpacked(bytes: &[u8]) -> Result<Files> {
    let mut files = Files::default();
    Archive::open(Cursor::new(bytes), bytes.len() as u64, LIMIT)?.unpack(&mut files)?;
    Ok(files)
}

#[test]
fn archive_of_another_writer_is_unpacked() {
    let files = unpacked(&made_elsewhere()).expect("an archive").0;

    let content = |path: &str| path.repeat(100).into_bytes();
    assert_eq!(
        files,
        [
            ("index.html".to_owned(), content("index.html")),
            ("docs/ä.txt".to_owned(), content("docs/ä.txt")),
            ("empty".to_owned(), Vec::new()),
        ]
    );
}

#[test]
fn archive_whose_sizes_follow_the_contents_is_unpacked() {
    let mut writer = ZipWriter::new_stream(Vec::new());
    for path in ["index.html", "other.html"] {
        let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        writer.start_file(path, packed).expect("a file");
        writer.write_all(&path.repeat(100).into_bytes()).expect("its content");
    }
    let bytes = writer.finish().expect("an archive").into_inner();

    let files = unpacked(&bytes).expect("an archive").0;

    assert_eq!(bytes[6] & 8, 8, "the first head does not leave its sizes open");
    assert_eq!(files[1], ("other.html".to_owned(), "other.html".repeat(100).into_bytes()));
}

/// Appends a comment to an archive, and announces it.
fn with_comment(mut archive: Vec<u8>, comment: &[u8]) -> Vec<u8> {
    let at = archive.len() - 2;
    archive[at..].copy_from_slice(&(comment.len() as u16).to_le_bytes());
    [&archive[..], comment].concat()
}

#[test]
fn archive_with_a_comment_is_unpacked() {
    for comment in [&b"9fceb02d0ae598e95dc970b74767f19372d61af8"[..], &[b'P'; 65535]] {
        let files = unpacked(&with_comment(made_elsewhere(), comment)).expect("an archive").0;
        assert_eq!(files.len(), 3);
    }
}

#[test]
fn archive_that_could_be_read_in_two_ways_is_refused() {
    let whole = made_elsewhere();
    // Another archive is the comment of the first one. Some programs find the first record, some the second.
    let two = with_comment(whole.clone(), &whole);
    // The comment has a record that is not at the end.
    let hidden = with_comment(whole.clone(), &[&end(0, 0, 0)[..], b"more"].concat());
    let mut longer = with_comment(whole.clone(), b"comment");
    longer.push(b'!');
    let shorter = with_comment(whole, b"comment")[..made_elsewhere().len() + 3].to_vec();

    for (bytes, reason) in [
        (two, "there are bytes before or after it"),
        (hidden, "bytes after its end"),
        (longer, "bytes after its end"),
        (shorter, "bytes after its end"),
    ] {
        let refused = unpacked(&bytes).err().expect(reason).to_string();
        assert!(refused.contains(reason), "{reason}: {refused}");
    }
}

#[test]
fn names_that_begin_in_the_current_directory_lose_it() {
    let written = |names: &[&str]| {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for name in names {
            match name.ends_with('/') {
                true => writer.add_directory(*name, stored).expect("a directory"),
                false => writer.start_file(*name, stored).expect("a file"),
            }
        }
        writer.finish().expect("an archive").into_inner()
    };

    let files = unpacked(&written(&["./", "./index.html", "./docs/", "./docs/a.txt"])).expect("an archive").0;

    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["index.html", "docs/a.txt"]);
    for (names, reason) in [
        (["./a", "a"], "another entry of this name"),
        (["./../a", "b"], "'..'"),
        (["././a", "b"], "'.'"),
        (["a/./b", "b"], "'.'"),
        (["./a\\b", "b"], "a backslash"),
        ([".//a", "b"], "absolute"),
    ] {
        let refused = unpacked(&written(&names)).err().expect(reason).to_string();
        assert!(refused.contains(reason), "{names:?}: {refused}");
    }
}

#[test]
fn record_inside_an_archive_is_not_mistaken_for_the_last_one() {
    // The list has no entry at its start, but a complete archive precedes it.
    let inner = made_elsewhere();
    let start = inner.len() as u32;
    let bytes = [&inner[..], &[0; 46], &end(4, 46, start)].concat();

    let refused = unpacked(&bytes).err().expect("a refusal").to_string();

    assert!(refused.contains("its list of files is"), "{refused}");
}

/// Builds the record at the end, with `entries` in a list of `size` bytes at `start`.
fn end(entries: u16, size: u32, start: u32) -> Vec<u8> {
    let mut bytes = b"PK\x05\x06\0\0\0\0".to_vec();
    bytes.extend([entries.to_le_bytes(), entries.to_le_bytes()].concat());
    bytes.extend([size.to_le_bytes(), start.to_le_bytes()].concat());
    bytes.extend([0, 0]);
    bytes
}

#[test]
fn million_entries_are_rejected_before_they_are_read() {
    let entry: [u8; 47] = {
        let mut entry = [0; 47];
        entry[..4].copy_from_slice(b"PK\x01\x02");
        entry[28] = 1;
        entry[46] = b'x';
        entry
    };
    let list = entry.repeat(1_000_000);
    let size = list.len() as u32;
    let honest = {
        let mut bytes = list.clone();
        // This many entries require the zip64 format.
        let start = bytes.len() as u64;
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44_u64.to_le_bytes());
        bytes.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([1_000_000_u64.to_le_bytes(), 1_000_000_u64.to_le_bytes()].concat());
        bytes.extend([u64::from(size).to_le_bytes(), 0_u64.to_le_bytes()].concat());
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        bytes.extend(start.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(end(0xffff, u32::MAX, u32::MAX));
        bytes
    };
    let lying = |entries, size, start| [&*list, &end(entries, size, start)].concat();

    for (bytes, reason) in [
        (honest, "it uses zip64"),
        (lying(3, size, 0), "its list of files takes"),
        (lying(0xfffe, size, 0), "65534 entries"),
        (lying(3, 141, 0), "there are bytes before or after it"),
        (lying(3, 47 * 80_000, size - 47 * 80_000), "not of 3 entries"),
    ] {
        let read = Cell::new(0);
        let file = Counted { file: Cursor::new(&bytes), read: &read };

        let refused = Archive::open(file, bytes.len() as u64, LIMIT).err().expect(reason).to_string();

        assert!(refused.contains(reason), "{reason}: {refused}");
        assert!(read.get() < 64 << 10, "{reason}: {} bytes were read", read.get());
    }
}

/// A file whose reads fail from an offset on.
struct Failing<'a> {
    file: Cursor<&'a [u8]>,
    from: u64,
}

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.file.position() + buffer.len() as u64 > self.from {
            Err(std::io::Error::other("no disk"))
        } else {
            self.file.read(buffer)
        }
    }
}

impl Seek for Failing<'_> {
    fn seek(&mut self, position: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(position)
    }
}

#[test]
fn failed_read_of_the_disk_is_not_the_clients_fault() {
    let bytes = made_elsewhere();
    let length = bytes.len() as u64;

    for from in 0..length {
        let file = Failing { file: Cursor::new(&bytes), from };

        let refused = Archive::open(file, length, LIMIT).err();

        assert!(matches!(refused, Some(Error::Unavailable(_))), "from {from}: {refused:?}");
    }
}

#[test]
fn disk_that_fails_while_files_come_out_is_not_the_clients_fault() {
    let bytes = made_elsewhere();
    let mut archive = Archive::open(Cursor::new(&bytes[..]), bytes.len() as u64, LIMIT).expect("an archive");
    let failing = Archive {
        disk: Disk::new(Failing { file: Cursor::new(&bytes), from: 0 }),
        list: archive.list.clone(),
        entries: std::mem::take(&mut archive.entries),
        limit: archive.limit,
        by_ratio: archive.by_ratio,
    };

    let refused = failing.unpack(&mut Files::default()).err();

    assert!(matches!(refused, Some(Error::Unavailable(_))), "{refused:?}");
}

proptest! {
    #[test]
    fn changed_bytes_are_refused_or_unpacked_and_never_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = made_elsewhere();
        let mut changed = whole.clone();
        for (at, byte) in changes {
            let at = at.index(changed.len());
            changed[at] = byte;
        }
        for bytes in [&changed[..], &changed[..cut.index(changed.len())]] {
            match unpacked(bytes) {
                Ok(files) => prop_assert!(files.0.iter().all(|(_, bytes)| bytes.len() as u64 <= LIMIT)),
                Err(error) => prop_assert!(matches!(error, Error::Invalid(_)), "{:?}", error),
            }
        }
    }
}
