//! Polls, acceptance and first use of the same moment, over two servers (N-08).

use std::collections::BTreeSet;

use futures_util::future::join;

use super::*;

async fn two_servers() -> [TestServer; 2] {
    let database = TestDatabase::create().await;
    let one = TestServer::start_on(&database, |settings| settings.job_connections = 4).await;
    let other = TestServer::start_on(&database, |settings| settings.job_connections = 4).await;
    [one, other]
}

#[tokio::test]
async fn parallel_polls_at_two_servers_get_the_same_credentials() {
    let servers = two_servers().await;
    for round in 0..5 {
        let id = format!("sn-{round}");
        register(&servers[0], &id).await;
        accept(&servers[0], &id).await;

        let polls = (0..20).map(|n| poll(&servers[n % 2], &id));
        let passwords: BTreeSet<String> = join_all(polls).await.iter().map(password).collect();

        assert_eq!(passwords.len(), 1, "{passwords:?}");
        let secret = passwords.first().unwrap();
        assert!(gets_in(&device(&servers[1], &id, secret)).await);
        assert_eq!(servers[0].count("new_device_requests").await, 0);
    }
}

#[tokio::test]
async fn device_that_polls_while_it_is_accepted_gets_one_password() {
    let servers = two_servers().await;
    for round in 0..10 {
        let id = format!("sn-{round}");
        register(&servers[0], &id).await;
        let polling = |server: usize| {
            let (id, servers) = (&id, &servers);
            async move {
                eventually("credentials", async || {
                    let answer = poll(&servers[server], id).await;
                    assert!([201, 404].contains(&answer.status), "{}", answer.text);
                    (answer.status == 201).then(|| password(&answer))
                })
                .await
            }
        };

        let ((one, other), ()) = join(join(polling(0), polling(1)), accept(&servers[round % 2], &id)).await;

        assert_eq!(one, other);
        assert!(gets_in(&device(&servers[0], &id, &one)).await);
    }
}

#[tokio::test]
async fn first_use_at_one_server_ends_the_request_at_the_other() {
    let [one, other] = two_servers().await;
    let secret = super::admit(&one, "sn-1").await;

    assert!(gets_in(&device(&other, "sn-1", &secret)).await);

    assert_eq!(poll(&one, "sn-1").await.status, 404);
    assert_eq!(one.admin().get(&request_of("sn-1")).await.status, 404);
}

#[tokio::test]
async fn id_is_given_once_when_two_servers_register_it_together() {
    let servers = two_servers().await;

    let body = json!({"id": "sn-1"});
    let posts = (0..10).map(|n| {
        let (admin, body) = (servers[n % 2].admin(), &body);
        async move { admin.post(REQUESTS, body).await.status }
    });
    let mut statuses = join_all(posts).await;

    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (201, &[409; 9][..]));
}

#[tokio::test]
async fn first_uses_beside_polls_never_fail() {
    let [one, other] = two_servers().await;
    for round in 0..5 {
        let id = format!("sn-{round}");
        let secret = super::admit(&one, &id).await;

        let uses = join_all((0..4).map(|n| {
            let device = device(if n % 2 == 0 { &one } else { &other }, &id, &secret);
            async move { gets_in(&device).await }
        }));
        let polls = join_all((0..4).map(|n| poll(if n % 2 == 0 { &one } else { &other }, &id)));
        let (used, polled) = join(uses, polls).await;

        assert_eq!(used, [true; 4]);
        for answer in polled {
            match answer.status {
                201 => assert_eq!(password(&answer), secret),
                status => assert_eq!(status, 404, "{}", answer.text),
            }
        }
        assert_eq!(poll(&one, &id).await.status, 404);
    }
}

/// The primary key of requests is checked before the index that makes ids unique in the deployment. An index of this
/// test delays the insert between the two, so that the second server finds a conflict in the first and none in the
/// second.
#[tokio::test]
async fn id_that_the_other_server_is_just_giving_is_409() {
    let servers = two_servers().await;
    let script = "CREATE FUNCTION slowly(id text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS \
            $$ BEGIN PERFORM pg_sleep(1); RETURN id; END $$; \
        DROP INDEX new_device_requests_by_id; \
        CREATE INDEX slow ON new_device_requests (slowly(id)); \
        CREATE UNIQUE INDEX new_device_requests_by_id ON new_device_requests (id);";
    servers[0].database().run_script(script).await;
    let (one, other) = (servers[0].admin(), servers[1].admin());
    let body = json!({"id": "sn-1"});

    let (one, other) = join(one.post(REQUESTS, &body), other.post(REQUESTS, &body)).await;

    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409], "{} {}", one.text, other.text);
}
