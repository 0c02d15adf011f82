//! Malicious archives (W-02): they are rejected with 422, which names the entry and the rule, and the previous version
//! stays.

use super::*;

/// An archive of `index.html` and this entry.
fn with(entry: Entry) -> Vec<u8> {
    archive(&[Entry::stored("index.html", "x"), entry])
}

fn named(name: impl AsRef<[u8]>) -> Vec<u8> {
    with(Entry::stored(name, "x"))
}

fn changed(change: impl FnOnce(&mut Entry)) -> Vec<u8> {
    let mut entry = Entry::deflated("entry", "hello hello hello hello");
    change(&mut entry);
    with(entry)
}

/// Returns archives, each with the entry and the rule that the error names.
fn archives() -> Vec<(Vec<u8>, &'static str, &'static str)> {
    let two = |one: &str, other: &str| {
        let entry = |name: &str| Entry::stored(name, if name.ends_with('/') { "" } else { "x" });
        archive(&[entry("index.html"), entry(one), entry(other)])
    };
    let whole = web_archive(&[("a.txt", "hello")]);
    let small = archive(&[Entry::stored("index.html", "x")]);
    let list = small.len() - 22 - 56;
    let with_end = |end: Vec<u8>| [&small[..small.len() - 22], &end].concat();
    let overlapping = || {
        let mut inner = Entry::stored("inner", "x");
        inner.other_offset = Some(0);
        archive(&[Entry::stored("index.html", "x"), inner])
    };
    let nested = || {
        // The second entry lies within the content of the first.
        let inner = archive(&[Entry::stored("inner", "x")]);
        let head = inner[..30 + 5 + 1].to_vec();
        let mut second = Entry::stored("inner", "x");
        second.other_offset = Some(30 + 10);
        archive(&[Entry::stored("index.html", head), second])
    };
    vec![
        (named("../evil"), "'../evil'", "'..'"),
        (named("a/../../evil"), "'a/../../evil'", "'..'"),
        (named(".."), "'..'", "'..'"),
        (named("a/./b"), "'a/./b'", "'.'"),
        (named("/etc/passwd"), "'/etc/passwd'", "absolute"),
        (named("a\\..\\evil"), "'a\\\\..\\\\evil'", "backslash"),
        (named("C:evil"), "'C:evil'", "drive"),
        (named("c:/evil"), "'c:/evil'", "drive"),
        (named("a\0b"), "'a\\0b'", "control"),
        (named("a\nb"), "'a\\nb'", "control"),
        (named("a\u{7f}"), "'a\\u{7f}'", "control"),
        (named("a//b"), "'a//b'", "empty"),
        (named(""), "''", "no name"),
        (named(b"\xff\xfe"), "'��'", "UTF-8"),
        (named("x".repeat(1025)), "xxx…'", "1024"),
        (changed(|entry| entry.mode = LINK), "'entry'", "link"),
        (changed(|entry| entry.mode = 0o020_666), "'entry'", "neither a file"),
        (changed(|entry| entry.mode = 0o010_666), "'entry'", "neither a file"),
        (changed(|entry| entry.mode = 0o040_755), "'entry'", "neither a file"),
        (two("a", "a"), "archive", "two entries of one name"),
        (two("a/b.txt", "a/B.txt"), "'a/", "case"),
        (two("ä", "Ä"), "'", "case"),
        (two("A/b", "a/c"), "'a/c'", "case"),
        (two("a", "a/b"), "'a'", "file and a directory"),
        (two("a", "A/b"), "'a'", "file and a directory"),
        (two("a", "a/"), "'a", "file and a directory"),
        (with(Entry::stored("a/", "x")), "'a/'", "directory with a content"),
        (changed(|entry| entry.flags |= 1), "'entry'", "encrypted"),
        (changed(|entry| entry.flags |= 1 << 6), "'entry'", "encrypted"),
        (changed(|entry| entry.flags |= 1 << 13), "'entry'", "encrypted"),
        (changed(|entry| entry.flags |= 1 << 5), "'entry'", "patch"),
        (changed(|entry| entry.method = 12), "'entry'", "method Bzip2"),
        (changed(|entry| entry.method = 99), "'entry'", "method Aes"),
        (changed(|entry| entry.crc ^= 1), "'entry'", "checksum"),
        (changed(|entry| entry.length += 1), "'entry'", "shorter"),
        (changed(|entry| entry.length -= 1), "'entry'", "larger than its declared"),
        (changed(|entry| entry.packed[3] ^= 0xff), "'entry'", "checksum"),
        (changed(|entry| entry.packed = vec![0xff; 40]), "'entry'", "corrupt"),
        (changed(|entry| entry.packed.truncate(4)), "'entry'", "'entry'"),
        (changed(|entry| entry.other_name = Some(b"other".into())), "'entry'", "its local header is wrong"),
        (changed(|entry| entry.other_offset = Some(45)), "'entry'", "its local header is wrong"),
        (changed(|entry| entry.other_offset = Some(u32::MAX)), "'entry'", "not before the list"),
        (changed(|entry| entry.other_offset = Some(u32::MAX - 1)), "'entry'", "not before the list"),
        (changed(|entry| entry.other_size = Some(u32::MAX - 1)), "'entry'", "into the list"),
        (overlapping(), "'inner'", "its local header is wrong"),
        (nested(), "'inner'", "overlaps"),
        (b"".to_vec(), "archive", "not a zip"),
        (b"PK".to_vec(), "archive", "not a zip"),
        (vec![b'x'; 100_000], "archive", "not a zip"),
        (whole[..whole.len() - 1].to_vec(), "archive", "is truncated"),
        (whole[..whole.len() / 2].to_vec(), "archive", "is truncated"),
        ([&whole[..], b"\0"].concat(), "archive", "after its end"),
        ([b"MZ", &whole[..]].concat(), "archive", "before or after"),
        (with_end(end_of_archive(2, 56, list as u32)), "archive", "list of files is broken"),
        (with_end(end_of_archive(0, 56, list as u32)), "archive", "not of 0 entries"),
        (with_end(end_of_archive(1, 55, list as u32 + 1)), "archive", "broken"),
        (with_end(end_of_archive(1, 56, 0)), "archive", "before or after"),
        (with_end(end_of_archive(1, u32::MAX, u32::MAX)), "archive", "it uses zip64"),
        (with_end(end_of_archive(0xffff, 56, list as u32)), "archive", "it uses zip64"),
    ]
}

#[tokio::test]
async fn hostile_archive_is_refused_by_its_entry_and_the_rule_and_changes_nothing() {
    let (server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    assert_eq!(upload(&admin, &id, &web_archive(&[("old.txt", "old")])).await.status, 204);
    let (before, rows) = (show(&admin, &id).await, stored(&server).await);

    for (archive, entry, rule) in archives() {
        let answer = upload(&admin, &id, &archive).await;

        assert_eq!(answer.status, 422, "{entry} {rule}: {}", answer.text);
        let message = answer.message();
        assert!(message.contains(entry) && message.contains(rule), "{entry} {rule}: {message}");
        assert!(message.len() < 400 && !message.contains(char::is_control), "{message}");
    }

    assert_eq!(show(&admin, &id).await, before);
    assert_eq!(admin.get("/apps/web-<tenant>/old.txt").await.text, "old");
    until("nothing is left behind", async || stored(&server).await == rows).await;
}

#[tokio::test]
async fn bytes_before_the_first_entry_are_refused_also_when_the_list_knows_of_them() {
    let (_server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    let whole = archive(&[Entry::stored("index.html", "x")]);
    let list = whole.len() - 22 - 56;
    // A self-extracting archive: everything is four bytes further back.
    let mut shifted = [b"#!/x", &whole[..]].concat();
    shifted[4 + list + 42] = 4;
    let end = shifted.len() - 22;
    shifted.truncate(end);
    shifted.extend(end_of_archive(1, 56, list as u32 + 4));

    upload(&admin, &id, &shifted).await.expect_message(422, "before the first entry");
}

#[tokio::test]
async fn directories_of_an_archive_are_not_files() {
    let (server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    let directory = Entry::stored("docs/", "");
    let file = Entry::stored("docs/a.txt", "hello");

    upload(&admin, &id, &archive(&[directory, Entry::stored("index.html", "x"), file])).await.expect(204);

    assert_eq!(admin.get("/apps/web-<tenant>/docs/a.txt").await.text, "hello");
    assert_eq!(stored(&server).await, (1, 1, 2));
}
