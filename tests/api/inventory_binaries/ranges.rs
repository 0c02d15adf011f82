//! Ranges of files (I-14a): modems fetch firmware in pieces, and continue after a lost connection.

use super::*;

/// Returns the status, the header `Content-Range` and the bytes of a download with these headers.
async fn part(caller: &Caller, path: &str, headers: &[(&str, &str)]) -> (u16, Option<String>, Vec<u8>) {
    let mut request = caller.request("GET", path);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = request.head().await;
    let range = response.headers().get("Content-Range").map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), range, response.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn one_range_is_206_with_its_bytes_and_everything_else_is_whole() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    const CHUNK: usize = 256 << 10;
    let content = bytes(2 * CHUNK + 100);
    let (end, length) = (content.len() - 1, content.len());
    let path = content_of(&upload(&admin, &named("a"), &content).await);

    for (range, from, to) in [
        ("bytes=0-0".to_owned(), 0, 0),
        ("bytes=1-511".into(), 1, 511),
        (format!("bytes={}-{}", CHUNK - 1, CHUNK), CHUNK - 1, CHUNK),
        (format!("bytes={CHUNK}-"), CHUNK, end),
        (format!("bytes={}-{}", CHUNK + 1, 2 * CHUNK), CHUNK + 1, 2 * CHUNK),
        ("bytes=-7".into(), length - 7, end),
        (format!("bytes={end}-999999999999999999999"), end, end),
    ] {
        let (status, shown, part) = part(&admin, &path, &[("Range", &range)]).await;
        let expected = format!("bytes {from}-{to}/{length}");
        assert_eq!((status, shown.as_deref()), (206, Some(&*expected)), "{range}");
        assert!(part == content[from..=to], "{range}: {} bytes", part.len());
    }
    for range in ["bytes=0-1,5-6", "bytes=5-2", "lines=1-2", "bytes=a-b"] {
        let (status, shown, whole) = part(&admin, &path, &[("Range", range)]).await;
        assert_eq!((status, shown), (200, None), "{range}");
        assert!(whole == content, "{range}");
    }
    for range in [format!("bytes={length}-"), "bytes=-0".into()] {
        let (status, shown, _) = part(&admin, &path, &[("Range", &range)]).await;
        assert_eq!((status, shown), (416, Some(format!("bytes */{length}"))), "{range}");
    }
    let head = admin.request("HEAD", &path).header("Range", "bytes=0-0").head().await;
    assert_eq!(
        (head.status().as_u16(), head.headers()["Content-Length"].to_str().unwrap()),
        (200, &*length.to_string())
    );
}

#[tokio::test]
async fn download_continues_only_while_the_content_is_the_same() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = content_of(&upload(&admin, &named("a"), b"first content").await);
    let tag = async || {
        let whole = admin.request("GET", &path).head().await;
        assert_eq!(whole.headers()["Accept-Ranges"], "bytes");
        whole.headers()["ETag"].to_str().unwrap().to_owned()
    };
    let first = tag().await;

    let same = part(&admin, &path, &[("Range", "bytes=6-"), ("If-Range", &first)]).await;
    admin.request("PUT", &path).header("Content-Type", "text/plain").body("other").send().await.expect(201);
    let second = tag().await;
    let changed = part(&admin, &path, &[("Range", "bytes=2-"), ("If-Range", &first)]).await;
    let current = part(&admin, &path, &[("Range", "bytes=2-"), ("If-Range", &second)]).await;
    let dated =
        part(&admin, &path, &[("Range", "bytes=2-"), ("If-Range", "Fri, 01 Jan 2027 00:00:00 GMT")]).await;

    assert_ne!(first, second);
    assert_eq!(same, (206, Some("bytes 6-12/13".into()), b"content".to_vec()));
    assert_eq!(changed, (200, None, b"other".to_vec()));
    assert_eq!(current, (206, Some("bytes 2-4/5".into()), b"her".to_vec()));
    assert_eq!(dated, (200, None, b"other".to_vec()));
}

#[tokio::test]
async fn empty_file_has_no_range() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = content_of(&upload(&admin, &named("a"), b"").await);

    assert_eq!(part(&admin, &path, &[("Range", "bytes=0-")]).await.0, 416);
    assert_eq!(part(&admin, &path, &[]).await, (200, None, Vec::new()));
}
