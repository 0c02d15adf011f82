//! Other users who know a clientId: their messages neither take the session nor disturb the moves of its owner (B-18).

use rustix::process::Signal;

use super::*;

/// Locks the table in which a server reads the rights of users whose rights were withdrawn.
const LOCK: &str = "BEGIN; LOCK TABLE group_members IN ACCESS EXCLUSIVE MODE";

/// The number of times that a session goes to another server and back.
const ROUNDS: usize = 10;

/// Two servers, a session of the administrator at the first, and two colleagues who know its clientId at the second.
struct Stage {
    servers: [TestServer; 2],
    at_a: Session,
    at_b: Session,
    colleagues: Vec<Session>,
}

impl Stage {
    async fn set() -> Self {
        let servers = TestServer::start_two().await;
        let [a, b] = &servers;
        let at_a = a.admin().listen("/alarms/*").await;
        a.user_with("reader", &["ROLE_ALARM_READ"]).await;
        a.user_with("nobody", &[]).await;
        let at_b = b.admin().resume(&at_a.client);
        let of = |name| b.caller(name, ADMIN_PASSWORD).resume(&at_a.client);
        let colleagues = vec![of("reader"), of("nobody"), of("reader"), of("nobody")];
        // The passwords are known at the second server, so that the messages arrive together.
        for colleague in &colleagues {
            assert!(!colleague.is_known().await);
        }
        Self { servers, at_a, at_b, colleagues }
    }

    /// Brings the session to the second server by a message of its owner, while colleagues send connects.
    async fn move_with<T>(&self, message: impl Future<Output = T>) -> T {
        let others = join_all(self.colleagues.iter().map(|colleague| colleague.glance()));
        let (others, own) = tokio::join!(others, message);
        for other in others {
            assert_eq!(reply(&other)["successful"], false, "{other:?}");
        }
        own
    }
}

#[tokio::test]
async fn connects_of_colleagues_do_not_disturb_the_connect_of_the_owner() {
    let stage = Stage::set().await;
    for round in 0..ROUNDS {
        let own = stage.move_with(stage.at_b.glance()).await;
        assert_eq!(reply(&own)["successful"], true, "round {round}: {own:?}");
        assert!(stage.at_a.is_known().await, "round {round}");
    }
    let admin = stage.servers[0].admin();
    let device = admin.create_device("pump").await;
    let alarm = id(&admin.raise_alarm(&device, "hot").await);
    assert_eq!(told(&stage.at_b.connect().await), [alarm]);
}

#[tokio::test]
async fn connects_of_colleagues_do_not_disturb_subscriptions_of_the_owner() {
    let stage = Stage::set().await;
    for round in 0..ROUNDS {
        let own = stage.move_with(stage.at_b.subscribe("/events/*")).await;
        assert_eq!(own["successful"], true, "round {round}: {own}");
        assert!(stage.at_a.is_known().await, "round {round}");
    }
}

#[tokio::test]
async fn connects_of_colleagues_do_not_disturb_a_socket_that_only_the_client_id_identifies() {
    let stage = Stage::set().await;
    let stranger = Caller::new(stage.servers[1].base(), None);
    for round in 0..ROUNDS {
        let mut socket = Socket::open(&stranger, REALTIME).await;
        let message = stage.at_a.message("/meta/unsubscribe", json!({"subscription": "/events/*"}));
        let own = stage.move_with(async {
            socket.send(json!([message]).to_string()).await;
            socket.message().await
        });
        let own: Value = own.await;
        assert_eq!(own["successful"], true, "round {round}: {own}");
        assert!(stage.at_a.is_known().await, "round {round}");
    }
}

#[tokio::test]
async fn sessions_that_leave_while_their_server_applies_a_new_password_end() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let (server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();
    for name in ["ann", "joe"] {
        server.user_with(name, &["ROLE_ALARM_READ"]).await;
    }
    let program = Program::serve_with(Program::command_on(&database, directory.path()));
    let there = |name| Caller::new(program.base(), Some((name, ADMIN_PASSWORD)));
    let _listening = there("ann").listen("/alarms/*").await;
    let sessions = join_all((0..5).map(async |_| there("joe").session().await)).await;

    // The paused server receives both changes together. It applies the first one as soon as it can read the rights.
    program.signal(Signal::STOP);
    assert_eq!(admin.delete("/user/main/users/ann/roles/ROLE_ALARM_READ").await.status, 204);
    admin.put("/user/main/users/joe", &json!({"password": "another-secret"})).await.expect(200);
    let joe = server.caller("joe", "another-secret");
    joe.get("/alarm/alarms").await.expect(200);
    let (blocker, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    blocker.batch_execute(LOCK).await.unwrap();
    program.signal(Signal::CONT);
    database.until_statements_wait(1).await;
    let at_other = sessions.iter().map(|session| joe.resume(&session.client));
    let moved = join_all(at_other.map(async |session| {
        session.glance().await;
        session
    }));
    let moved = moved.await;
    blocker.batch_execute("ROLLBACK").await.unwrap();

    for session in moved {
        until("the end of the session", async || !session.is_known().await).await;
    }
}
