//! Range requests.

use super::*;

#[tokio::test]
async fn single_range_is_206_with_its_place() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let long: String = (0..100_000).map(|n| format!("{n:06}")).collect();
    host(&admin, "web", &[("before.txt", "x"), ("long.txt", &long)]).await;

    for (range, from, until) in [
        ("bytes=0-0", 0, 1),
        ("bytes=262140-262150", 262_140, 262_151),
        ("bytes=599990-", 599_990, 600_000),
        ("bytes=-5", 599_995, 600_000),
        ("bytes=100-9999999", 100, 600_000),
    ] {
        let answer = get_with(&admin, "/apps/web/long.txt", &[("Range", range)]).await;
        assert_eq!((answer.status, answer.text == long[from..until]), (206, true), "{range}");
        let place = format!("bytes {from}-{}/600000", until - 1);
        assert_eq!(answer.header("Content-Range"), Some(&*place), "{range}");
    }
}

#[tokio::test]
async fn range_that_there_is_not_is_416_with_the_length() {
    let (_server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("a.txt", "hello"), ("empty.txt", "")]).await;

    for (path, range, length) in
        [("a.txt", "bytes=5-", 5), ("a.txt", "bytes=-0", 5), ("empty.txt", "bytes=0-", 0)]
    {
        let answer = get_with(&admin, &format!("/apps/web/{path}"), &[("Range", range)]).await;
        assert_eq!((answer.status, &*answer.error()), (416, "general/Range Not Satisfiable"), "{range}");
        assert_eq!(answer.header("Content-Range"), Some(&*format!("bytes */{length}")), "{range}");
    }
}

#[tokio::test]
async fn several_ranges_and_ranges_of_another_version_return_the_file() {
    let (_server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("a.txt", "hello")]).await;
    let tag = admin.get("/apps/web/a.txt").await.header("ETag").unwrap().to_owned();
    let get = async |headers: &[(&str, &str)]| get_with(&admin, "/apps/web/a.txt", headers).await;

    let several = get(&[("Range", "bytes=0-0,2-3")]).await;
    let other = get(&[("Range", "bytes=0-0"), ("If-Range", "\"other\"")]).await;
    let same = get(&[("Range", "bytes=0-0"), ("If-Range", &tag)]).await;

    assert_eq!((several.status, &*several.text), (200, "hello"));
    assert_eq!((other.status, &*other.text), (200, "hello"));
    assert_eq!((same.status, &*same.text), (206, "h"));
}
