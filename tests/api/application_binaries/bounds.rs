//! Limits of the unpacked size of an archive (W-02), which is counted while it is unpacked, whatever its headers say.

use super::*;

fn index() -> Entry {
    Entry::stored("index.html", "x")
}

async fn refused(server: &TestServer, id: &str, archive: &[u8]) -> String {
    let answer = upload(&server.admin(), id, archive).await.expect(422);
    answer.message()
}

#[tokio::test]
async fn entry_of_more_than_a_hundred_times_its_packed_size_is_refused() {
    let (server, _admin, id) = with_application(TestServer::start().await, "HOSTED", "web").await;
    let bomb = Entry::deflated("bomb", vec![0; 20 << 20]);
    let mut lying = bomb.clone();
    lying.length = 1000;

    let honest = refused(&server, &id, &archive(&[index(), bomb])).await;
    let lying = refused(&server, &id, &archive(&[index(), lying])).await;

    assert!(honest.contains("'bomb'") && honest.contains("100 times"), "{honest}");
    assert!(lying.contains("'bomb'") && lying.contains("larger than its declared"), "{lying}");
    until("nothing is left", async || stored(&server).await == (0, 0, 0)).await;
}

#[tokio::test]
async fn many_small_bombs_are_refused_together() {
    let (server, _admin, id) = with_application(TestServer::start().await, "HOSTED", "web").await;
    let bomb = Entry::deflated("x", vec![0; 1 << 20]);
    let bombs = (0..200).map(|n| Entry { name: format!("bomb{n}").into_bytes(), ..bomb.clone() });
    let entries: Vec<_> = [index()].into_iter().chain(bombs).collect();

    let message = refused(&server, &id, &archive(&entries)).await;

    assert!(message.contains("100 times the archive"), "{message}");
}

#[tokio::test]
async fn first_megabyte_of_an_entry_may_have_any_ratio() {
    let (_server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    // The file compresses to few bytes, as a page with one repeated line does.
    let page = Entry::deflated("page.txt", vec![b'a'; 900_000]);
    let noise: Vec<u8> = (0..20_000_u32)
        .flat_map(|n| ring::digest::digest(&ring::digest::SHA256, &n.to_le_bytes()).as_ref()[..8].to_vec())
        .collect();

    upload(&admin, &id, &archive(&[index(), page, Entry::stored("noise", noise)])).await.expect(204);

    assert_eq!(admin.get("/apps/web-<tenant>/page.txt").await.text.len(), 900_000);
}

#[tokio::test]
async fn no_more_comes_out_than_the_setting_says() {
    let server =
        TestServer::start_with(|settings| settings.limits.application_unpacked_bytes = 100_000).await;
    let admin = server.admin();
    let id = create(&admin, "HOSTED", "web").await;
    let of = |second: usize| {
        archive(&[index(), Entry::stored("a", "a".repeat(59_999)), Entry::stored("b", "b".repeat(second))])
    };

    let message = refused(&server, &id, &of(40_001)).await;

    assert!(message.contains("'b'") && message.contains("100000"), "{message}");
    assert_eq!(upload(&admin, &id, &of(40_000)).await.status, 204);
}

#[tokio::test]
async fn archive_has_at_most_ten_thousand_entries() {
    let (server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    let of = |count: usize| {
        let files = (1..count).map(|n| Entry::stored(format!("f{n}"), ""));
        archive(&[index()].into_iter().chain(files).collect::<Vec<_>>())
    };

    let message = refused(&server, &id, &of(10_001)).await;

    assert!(message.contains("10001 entries") && message.contains("10000"), "{message}");
    assert_eq!(upload(&admin, &id, &of(10_000)).await.status, 204);
    assert_eq!(stored(&server).await.2, 10_000);
}

#[tokio::test]
async fn long_form_of_the_end_is_refused_whatever_number_of_entries_it_claims() {
    let (server, _admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    // The zip64 end record claims a million entries, but there is no list.
    let mut claim = Vec::new();
    claim.extend(b"PK\x06\x06");
    claim.extend(44_u64.to_le_bytes());
    claim.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    claim.extend([1_000_000_u64, 1_000_000, 0, 0].map(u64::to_le_bytes).concat());
    claim.extend(b"PK\x06\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0");
    claim.extend(end_of_archive(0xffff, 0, 0));

    let message = refused(&server, &id, &claim).await;

    assert!(message.contains("it uses zip64"), "{message}");
}

#[tokio::test]
async fn archive_in_an_archive_stays_closed() {
    let (_server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    let bomb = archive(&[Entry::deflated("../bomb", vec![0; 20 << 20])]);
    let (length, digest) = (bomb.len(), ring::digest::digest(&ring::digest::SHA256, &bomb));

    assert_eq!(upload(&admin, &id, &archive(&[index(), Entry::stored("a.zip", bomb)])).await.status, 204);

    let response = admin.request("GET", "/apps/web-<tenant>/a.zip").head().await;
    assert_eq!(response.headers()["content-type"], "application/zip");
    let bytes = response.bytes().await.unwrap();
    assert_eq!(bytes.len(), length);
    assert_eq!(ring::digest::digest(&ring::digest::SHA256, &bytes).as_ref(), digest.as_ref());
}
