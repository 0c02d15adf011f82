//! Concurrent requests for files.

use super::*;

#[tokio::test]
async fn one_of_many_replacements_wins_as_a_whole() {
    let servers = TestServer::start_two().await;
    let callers = [servers[0].admin(), servers[1].admin()];
    let object = upload(&callers[0], &named("a"), b"first").await;
    let path = content_of(&object);

    let puts: Vec<_> = (0..8_u8)
        .map(|n| {
            let (caller, path) = (callers[usize::from(n) % 2].clone(), path.clone());
            let body = vec![b'a' + n; 300_000 + usize::from(n)];
            tokio::spawn(async move { caller.request("PUT", &path).body(body).send().await })
        })
        .collect();
    for put in puts {
        let answer = put.await.unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text);
    }

    let content = download(&callers[0], &path).await;
    let object = callers[1].read(object["self"].as_str().unwrap()).await;
    assert!(content.iter().all(|byte| *byte == content[0]), "no mixture");
    assert_eq!(content.len(), 300_000 + usize::from(content[0] - b'a'));
    assert_eq!(object["length"], content.len(), "the object tells of the content it has");
    assert_eq!(
        (servers[0].database().count("binaries").await, servers[0].database().count("binary_chunks").await),
        (1, 2)
    );
}

#[tokio::test]
async fn replacement_that_races_a_deletion_is_201_or_404() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for _ in 0..5 {
        let path = content_of(&upload(&admin, &named("a"), b"first").await);
        let puts: Vec<_> = (0..3)
            .map(|_| {
                let (caller, path) = (admin.clone(), path.clone());
                tokio::spawn(
                    async move { caller.request("PUT", &path).body(vec![b'x'; 300_000]).send().await },
                )
            })
            .collect();
        let deleted = admin.delete(&path).await;
        assert!([204, 404].contains(&deleted.status), "{}", deleted.text);
        for put in puts {
            let answer = put.await.unwrap();
            assert!([201, 404].contains(&answer.status), "{}: {}", answer.status, answer.text);
        }
        assert_eq!(admin.get(&path).await.status, 404);
    }
    assert_no_leftovers(&server).await;
    assert_eq!(server.count("binary_chunks").await, 0);
}
