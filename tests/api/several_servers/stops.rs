//! Orderly stops: the sessions of a stopping server continue at another server or after a restart, without a handshake.

use platform_model::id::TenantId;
use platform_model::users::user::Administration;
use platform_store::realtime::servers::State;
use platform_store::users::changes::update_password;

use super::*;

/// A client that uses the first server that responds, as behind a balancer.
struct Client {
    client: String,
    servers: Vec<Caller>,
    received: Vec<String>,
}

impl Client {
    async fn listening(servers: &[Caller]) -> Self {
        let client = servers[0].listen("/alarms/*").await.client;
        Self { client, servers: servers.to_vec(), received: Vec::new() }
    }

    /// Sends one connect. A server that does not respond is not used again.
    async fn connect(&mut self) {
        let message = json!([{"channel": "/meta/connect", "clientId": self.client, "connectionType": "long-polling",
            "advice": {"timeout": 300}}]);
        let request = self.servers[0].request("POST", REALTIME).accepting_json().json(&message);
        match request.try_send().await {
            Some(answer) => {
                assert_eq!(answer.status, 200, "{}", answer.text);
                let answer: Vec<Value> = serde_json::from_str(&answer.text).unwrap();
                self.received.extend(told(&answer));
                let wait = reply(&answer)["advice"]["interval"].as_u64().unwrap_or_default();
                tokio::time::sleep(Duration::from_millis(wait.min(200))).await;
            }
            None => drop(self.servers.remove(0)),
        }
    }

    async fn receive_until(&mut self, last: &str) {
        while self.received.last().is_none_or(|id| id != last) {
            self.connect().await;
        }
    }
}

/// Raises alarms until the future completes, and then one more. Returns their ids.
async fn raise_during(
    caller: &Caller,
    device: &str,
    name: &str,
    during: impl Future<Output = ()>,
) -> Vec<String> {
    let (mut raised, mut during) = (Vec::new(), std::pin::pin!(during));
    for n in 0.. {
        let alarm = tokio::time::timeout(Duration::from_millis(5), &mut during).await;
        raised.push(id(&caller.raise_alarm(device, &format!("{name}{n}")).await));
        if alarm.is_ok() {
            break;
        }
    }
    raised
}

#[tokio::test]
async fn sessions_of_a_server_that_stops_under_writes_continue_at_the_other() {
    let [a, b] = TestServer::start_two().await;
    let servers = [a.admin(), b.admin()];
    let device = servers[1].create_device("pump").await;
    let mut clients = Vec::new();
    for _ in 0..10 {
        clients.push(Client::listening(&servers).await);
    }
    let (writer, own) = (servers[1].clone(), device.clone());
    let writing = tokio::spawn(async move {
        raise_during(&writer, &own, "t", async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            a.stop().await;
            tokio::time::sleep(Duration::from_millis(300)).await;
        })
        .await
    });
    let clients = clients.into_iter().map(|mut client| {
        tokio::spawn(async move {
            while client.servers.len() == 2 {
                client.connect().await;
            }
            client
        })
    });
    let clients: Vec<_> = clients.collect();
    let raised = writing.await.unwrap();
    for client in clients {
        let mut client = client.await.unwrap();
        client.receive_until(raised.last().unwrap()).await;
        assert_eq!(client.received, raised);
    }
}

#[tokio::test]
async fn sessions_of_a_lone_server_continue_after_its_restart() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let device = server.admin().create_device("pump").await;
    let acknowledging = server.admin().session_with(json!({"ext": {"ack": true}})).await;
    acknowledging.subscribe(&format!("/alarms/{device}")).await;
    let plain = server.admin().listen("/alarms/*").await;
    let mut raised = vec![id(&server.admin().raise_alarm(&device, "hot").await)];
    assert_eq!(told(&acknowledging.connect().await), raised);
    raised.push(id(&server.admin().raise_alarm(&device, "cold").await));
    server.stop().await;
    assert_eq!(database.count("stored_sessions").await, 2);

    let server = TestServer::start_on(&database, |_| {}).await;
    assert_eq!(database.count("stored_sessions").await, 0);
    let again = |session: &Session| server.admin().resume(&session.client);
    raised.push(id(&server.admin().raise_alarm(&device, "warm").await));
    assert_eq!(told(&again(&acknowledging).connect_with(json!({"ext": {"ack": -1}})).await), raised);
    assert_eq!(told(&again(&plain).connect().await), raised);

    // The server that created the sessions is gone; another one finds them in the database.
    let other = TestServer::start_on(&database, |_| {}).await;
    let alarm = id(&other.admin().raise_alarm(&device, "wet").await);
    assert_eq!(told(&other.admin().resume(&plain.client).connect().await), [alarm]);
}

#[tokio::test]
async fn client_may_return_as_late_as_there_was_no_server() {
    let interval = Duration::from_millis(500);
    let database = TestDatabase::create().await;
    let start = || TestServer::start_on(&database, |settings| settings.limits.session_interval = interval);
    let server = start().await;
    let device = server.admin().create_device("pump").await;
    let session = server.admin().listen("/alarms/*").await;
    server.stop().await;
    let outage = "UPDATE stored_sessions SET expires_at = expires_at - interval '40 seconds'";
    assert_eq!(database.execute(outage, &[]).await, 1);

    let server = start().await;
    let session = server.admin().resume(&session.client);
    let alarm = id(&server.admin().raise_alarm(&device, "hot").await);
    tokio::time::sleep(interval * 4).await;
    assert_eq!(told(&session.connect().await), [alarm]);

    // From then on, the interval counts as usual.
    tokio::time::sleep(interval * 4).await;
    assert!(!session.is_known().await);
}

#[tokio::test]
async fn stored_session_ends_when_its_user_gets_a_new_password() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let joe = server.user_with("joe", &[]).await;
    let (of_joe, of_admin) = (joe.session().await, server.admin().session().await);
    server.stop().await;
    assert_eq!(database.count("stored_sessions").await, 2);

    let tenant = TenantId::parse("main").unwrap();
    let by = Administration::of_operator(tenant, 1);
    update_password(&database.open(), &by, "joe", "another hash").await.unwrap();

    let server = TestServer::start_on(&database, |_| {}).await;
    assert!(server.admin().resume(&of_admin.client).is_known().await);
    let hash = "UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE name = 'admin' LIMIT 1) \
        WHERE name = 'joe'";
    database.execute(hash, &[]).await;
    assert!(!server.caller("joe", ADMIN_PASSWORD).resume(&of_joe.client).is_known().await);
}

#[tokio::test]
async fn sessions_continue_when_all_servers_stop_at_once() {
    let [a, b] = TestServer::start_two().await;
    let (database, device) = (a.shared_database(), a.admin().create_device("pump").await);
    let sessions = [a.admin().listen("/alarms/*").await, b.admin().listen("/alarms/*").await];
    let raised = vec![id(&a.admin().raise_alarm(&device, "hot").await)];
    tokio::join!(a.stop(), b.stop());

    let server = TestServer::start_on(&database, |_| {}).await;
    for session in sessions {
        assert_eq!(told(&server.admin().resume(&session.client).connect().await), raised);
    }
}

#[tokio::test]
async fn stored_sessions_have_what_was_written_until_all_servers_had_stopped() {
    let [a, b] = TestServer::start_two().await;
    let (database, device) = (a.shared_database(), a.admin().create_device("pump").await);
    let sessions = [a.admin().listen("/alarms/*").await, b.admin().listen("/alarms/*").await];
    let writers = [("a", a.admin()), ("b", b.admin())]
        .map(|(name, caller)| tokio::spawn(raise_until_refused(caller, device.clone(), name)));
    tokio::time::sleep(Duration::from_millis(100)).await;
    tokio::join!(a.stop(), b.stop());
    let mut raised = Vec::new();
    for writer in writers {
        raised.extend(writer.await.unwrap());
    }

    let server = TestServer::start_on(&database, |_| {}).await;
    let [first, second] = sessions.map(|session| server.admin().resume(&session.client));
    let received = told(&first.connect().await);
    assert_eq!(told(&second.connect().await), received);
    for id in &raised {
        assert_eq!(
            received.iter().filter(|told| *told == id).count(),
            1,
            "{id} of {raised:?} in {received:?}"
        );
    }
}

/// Raises alarms until the server is gone. Returns the ids of the acknowledged ones.
async fn raise_until_refused(caller: Caller, device: String, name: &str) -> Vec<String> {
    let mut raised = Vec::new();
    for n in 0.. {
        let alarm = alarm_of(&device, &format!("{name}{n}"));
        match caller.request("POST", "/alarm/alarms").accepting_json().json(&alarm).try_send().await {
            Some(answer) if answer.status == 201 => raised.push(id(&answer.json())),
            _ => break,
        }
    }
    assert!(!raised.is_empty());
    raised
}

#[tokio::test]
async fn rolling_restart_of_three_servers_forces_no_handshake() {
    let mut servers = TestServer::start_several(3).await;
    let database = servers[0].shared_database();
    let device = servers[0].admin().create_device("pump").await;
    let mut sessions = Vec::new();
    for server in &servers {
        sessions.push((server.admin().listen("/alarms/*").await.client, Vec::new()));
    }
    let mut raised = Vec::new();
    for round in 0..3 {
        let new = TestServer::start_on(&database, |_| {}).await;
        let (old, writer) = (servers.remove(0), new.admin());
        raised.extend(raise_during(&writer, &device, &format!("round{round}n"), old.stop()).await);
        servers.push(new);
        for (n, (client, received)) in sessions.iter_mut().enumerate() {
            let session = servers[(n + round) % 3].admin().resume(client);
            while received.last() != raised.last() {
                received.extend(told(&session.connect_with(json!({"advice": {"timeout": 300}})).await));
            }
        }
    }
    for (_, received) in sessions {
        assert_eq!(received, raised);
    }
}

#[tokio::test]
async fn server_that_drains_hands_its_sessions_over() {
    let [a, b] = TestServer::start_two().await;
    let device = a.admin().create_device("pump").await;
    let at_a = a.admin().listen("/alarms/*").await;
    let held = at_a.hold().await;

    set_state_of(&a, State::Draining).await;

    assert_eq!(told(&soon("the answer of the held poll", held.answer()).await), Vec::<String>::new());
    let at_b = b.admin().resume(&at_a.client);
    let held = at_b.hold().await;
    let alarm = id(&a.admin().raise_alarm(&device, "hot").await);
    assert_eq!(told(&held.answer().await), [alarm]);
    // A client that still uses the draining server is served.
    let alarm = id(&b.admin().raise_alarm(&device, "cold").await);
    assert_eq!(told(&at_a.connect().await), [alarm]);
}

#[tokio::test]
async fn servers_that_are_all_drained_keep_their_sessions_and_take_those_of_one_that_stops() {
    let [a, b] = TestServer::start_two().await;
    let device = a.admin().create_device("pump").await;
    let sessions = [a.admin().listen("/alarms/*").await, b.admin().listen("/alarms/*").await];
    for server in [&a, &b] {
        set_state_of(server, State::Draining).await;
    }
    let unready = async |server: &TestServer| server.stranger().get("/health/ready").await.status == 503;
    for server in [&a, &b] {
        until("unreadiness", async || unready(server).await).await;
    }
    // A server hands sessions over four times a second.
    let held = [sessions[0].hold().await, sessions[1].hold().await];
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut raised = vec![id(&b.admin().raise_alarm(&device, "hot").await)];
    for held in held {
        assert_eq!(told(&held.answer().await), raised);
    }

    // The other server started later.
    a.stop().await;

    let alarm = id(&b.admin().raise_alarm(&device, "cold").await);
    raised.push(alarm);
    for session in &sessions {
        assert_eq!(told(&b.admin().resume(&session.client).connect().await), raised[1..]);
    }
}
