//! Password guesses are counted at every server, regardless of the server that received them.

use super::*;

#[tokio::test]
async fn guesses_at_one_server_delay_the_next_one_at_another() {
    let database = TestDatabase::create().await;
    let mut servers = Vec::new();
    for _ in 0..2 {
        let server = TestServer::start_on(&database, |settings| {
            settings.limits.free_guesses_per_account = 2;
            settings.limits.guess_delay = Duration::from_secs(60);
            settings.limits.longest_guess_delay = Duration::from_secs(240);
        });
        servers.push(server.await);
    }
    let [a, b] = &servers[..] else { panic!("two servers") };
    for n in 0..2 {
        a.caller("management/admin", &format!("wrong-{n}")).get(OBJECTS).await.expect(401);
    }
    // Servers exchange their guesses five times a second.
    tokio::time::sleep(Duration::from_secs(2)).await;

    let guess = b.caller("management/admin", "wrong-2");
    let answered = tokio::time::timeout(Duration::from_secs(1), guess.get(OBJECTS)).await;

    assert!(answered.is_err(), "{answered:?}");
    // A caller with the correct password of another account does not wait.
    assert_eq!(b.admin().get(OBJECTS).await.status, 200);
}
