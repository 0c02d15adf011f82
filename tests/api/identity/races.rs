//! Concurrent requests for external ids.

use super::*;

#[tokio::test]
async fn one_of_many_posts_of_a_pair_is_201_and_the_others_are_409() {
    let servers = TestServer::start_two().await;
    let callers = [servers[0].admin(), servers[1].admin()];
    let device = callers[0].create_device("pump").await;

    let posts: Vec<_> = (0..20)
        .map(|n| {
            let (caller, path) = (callers[n % 2].clone(), ids_of(&device));
            tokio::spawn(async move { caller.post(&path, &pair("plat_Serial", "4711")).await })
        })
        .collect();
    let mut statuses = Vec::new();
    for post in posts {
        statuses.push(post.await.unwrap().status);
    }

    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (201, &[409; 19][..]));
}

#[tokio::test]
async fn post_that_races_the_deletion_of_its_object_is_201_or_404() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for round in 0..10 {
        let device = admin.create_device("pump").await;
        let posts: Vec<_> = (0..4)
            .map(|n| {
                let (caller, path) = (admin.clone(), ids_of(&device));
                let body = pair("plat_Serial", &format!("{round}-{n}"));
                tokio::spawn(async move { caller.post(&path, &body).await })
            })
            .collect();
        admin.delete(&format!("/inventory/managedObjects/{device}")).await.expect(204);
        for post in posts {
            let answer = post.await.unwrap();
            assert!([201, 404].contains(&answer.status), "{}: {}", answer.status, answer.text);
        }
    }
    assert_eq!(server.count("external_ids").await, 0, "none outlives its object");
}

#[tokio::test]
async fn one_of_many_deletes_is_204_and_the_others_are_404() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let link = name(&admin, &device, "a", "b").await["self"].as_str().unwrap().to_owned();

    let deletes: Vec<_> = (0..10)
        .map(|_| {
            let (caller, link) = (admin.clone(), link.clone());
            tokio::spawn(async move { caller.delete(&link).await.status })
        })
        .collect();
    let mut statuses = Vec::new();
    for delete in deletes {
        statuses.push(delete.await.unwrap());
    }

    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (204, &[404; 9][..]));
}
