//! A session moves to the server that its client uses, also if each message reaches another server.

use rustix::process::Signal;

use super::*;

/// Sends connects to these servers in turn until this number of alarms has been received.
async fn receive_in_turn(sessions: &[Session], count: usize) -> Vec<String> {
    let (mut received, begun) = (Vec::new(), Instant::now());
    for session in sessions.iter().cycle() {
        if received.len() >= count {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{} of {count}", received.len());
        received.extend(told(&session.connect_with(json!({"advice": {"timeout": 300}})).await));
    }
    received
}

async fn raise(callers: &[Caller], device: &str, count: usize, name: &str) -> Vec<String> {
    let mut raised = Vec::new();
    for n in 0..count {
        let caller = &callers[n % callers.len()];
        raised.push(id(&caller.raise_alarm(device, &format!("{name}{n}")).await));
    }
    raised
}

#[tokio::test]
async fn session_moves_to_the_server_of_the_next_connect() {
    let [a, b] = TestServer::start_two().await;
    let callers = [a.admin(), b.admin()];
    let device = callers[0].create_device("pump").await;
    let at_a = callers[0].listen("/alarms/*").await;
    let at_b = callers[1].resume(&at_a.client);

    let mut expected = raise(&callers, &device, 3, "before").await;
    assert_eq!(told(&at_b.connect().await), expected);
    expected = raise(&callers[..1], &device, 3, "at b").await;
    assert_eq!(receive_in_turn(std::slice::from_ref(&at_b), 3).await, expected);
    expected = raise(&callers, &device, 3, "back").await;
    assert_eq!(receive_in_turn(std::slice::from_ref(&at_a), 3).await, expected);
    for session in [&at_b, &at_a] {
        assert_eq!(told(&session.glance().await), Vec::<String>::new(), "nothing comes twice");
    }
}

#[tokio::test]
async fn client_in_turn_at_two_servers_receives_each_of_200_writes_once_and_in_order() {
    let [a, b] = TestServer::start_two().await;
    let callers = [a.admin(), b.admin()];
    let device = callers[0].create_device("pump").await;
    let at_a = callers[0].listen("/alarms/*").await;
    let sessions = [callers[1].resume(&at_a.client), at_a];
    let (raised, received) =
        tokio::join!(raise(&callers, &device, 200, "t"), receive_in_turn(&sessions, 200));
    // Both writers send one request at a time, so the order of alarms is fixed.
    assert_eq!(received, raised);
    assert_eq!(told(&sessions[0].glance().await), Vec::<String>::new());
}

#[tokio::test]
async fn session_that_two_servers_ask_for_at_the_same_time_is_known_at_both() {
    let servers = TestServer::start_several(3).await;
    let clients: Vec<_> = (0..10).map(async |_| servers[0].admin().session().await.client).collect();
    let clients = futures_util::future::join_all(clients).await;
    for round in 0..10 {
        let known = clients.iter().flat_map(|client| {
            let askers = [&servers[(round + 1) % 3], &servers[(round + 2) % 3]];
            askers.map(async |server| server.admin().resume(client).is_known().await)
        });
        let known = futures_util::future::join_all(known).await;
        assert_eq!(known, vec![true; 20], "round {round}");
    }
}

#[tokio::test]
async fn client_in_turn_that_acknowledges_receives_each_of_200_writes_once_and_in_order() {
    let [a, b] = TestServer::start_two().await;
    let callers = [a.admin(), b.admin()];
    let device = callers[0].create_device("pump").await;
    let at_a = callers[0].session_with(json!({"ext": {"ack": true}})).await;
    assert_eq!(at_a.subscribe("/alarms/*").await["successful"], true);
    let sessions = [callers[1].resume(&at_a.client), at_a];
    let receiving = async {
        let (mut received, mut batch, mut n) = (Vec::new(), json!(-1), 0);
        while received.len() < 200 {
            let connect = json!({"advice": {"timeout": 300}, "ext": {"ack": batch}});
            let answer = sessions[n % 2].connect_with(connect).await;
            n += 1;
            // Every third response is lost on its way, so the other server sends the batch again.
            if n % 3 == 0 {
                continue;
            }
            batch = reply(&answer)["ext"]["ack"].clone();
            received.extend(told(&answer));
        }
        received
    };
    let (raised, received) = tokio::join!(raise(&callers, &device, 200, "t"), receiving);
    assert_eq!(received, raised);
}

#[tokio::test]
async fn connect_that_is_held_gets_its_response_when_the_client_uses_another_server() {
    let [a, b] = TestServer::start_two().await;
    let (at_a, device) = (a.admin().listen("/alarms/*").await, a.admin().create_device("pump").await);
    let held = at_a.hold().await;
    let at_b = b.admin().resume(&at_a.client);
    assert_eq!(at_b.subscribe("/events/*").await["successful"], true);
    assert_eq!(told(&held.answer().await), Vec::<String>::new());

    let event = id(&a.admin().create_event(&device, "opened").await);
    let alarm = id(&b.admin().raise_alarm(&device, "hot").await);
    assert_eq!(receive_in_turn(std::slice::from_ref(&at_a), 2).await, [event, alarm]);
    assert_eq!(at_b.unsubscribe("/alarms/*").await["successful"], true);
    assert_eq!(at_a.ask("/meta/disconnect", json!({})).await["successful"], true);
    for session in [&at_a, &at_b] {
        assert!(!session.is_known().await);
    }
}

#[tokio::test]
async fn connect_on_the_connection_of_an_earlier_visit_is_held() {
    let [a, b] = TestServer::start_two().await;
    let writer = a.admin();
    let device = writer.create_device("pump").await;
    // The client keeps one connection to each server and sends only connects over it.
    let at_a = a.admin().listen("/alarms/*").await;
    let at_b = b.admin().resume(&at_a.client);
    for session in [&at_a, &at_b, &at_a, &at_b] {
        assert_eq!(told(&session.glance().await), Vec::<String>::new());
    }
    let held = at_a.hold().await;
    let alarm = id(&writer.raise_alarm(&device, "hot").await);
    assert_eq!(told(&held.answer().await), [alarm]);
}

#[tokio::test]
async fn made_up_client_id_causes_no_request_to_other_servers() {
    let [a, b] = TestServer::start_two().await;
    let session = a.admin().listen("/alarms/*").await;
    let mut digits = session.client.clone().into_bytes();
    digits[31] = if digits[31] == b'0' { b'1' } else { b'0' };
    let made_up = b.admin().resume(std::str::from_utf8(&digits).unwrap());
    let begun = Instant::now();
    assert!(!made_up.is_known().await);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(session.is_known().await);
}

#[tokio::test]
async fn client_id_of_a_session_that_ended_is_refused_at_once_everywhere() {
    let [a, b] = TestServer::start_two().await;
    let session = a.admin().session().await;
    assert_eq!(session.ask("/meta/disconnect", json!({})).await["successful"], true);
    let begun = Instant::now();
    assert!(!b.admin().resume(&session.client).is_known().await);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn another_user_cannot_take_a_session() {
    let [a, b] = TestServer::start_two().await;
    let admin = a.admin();
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;
    a.user_with("other", &["ROLE_ALARM_READ"]).await;
    let other = b.caller("other", ADMIN_PASSWORD);
    assert!(!other.resume(&session.client).is_known().await);
    let raised = raise(&[b.admin()], &device, 2, "t").await;
    assert_eq!(receive_in_turn(&[session], 2).await, raised);
}

#[tokio::test]
async fn session_of_a_killed_server_is_lost_and_said_so() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let server = TestServer::start_on(&database, |_| {}).await;
    let program = Program::serve_with(Program::command_on(&database, directory.path()));
    let there = Caller::new(program.base(), Some(("admin", ADMIN_PASSWORD)));
    let session = there.listen("/alarms/*").await;
    program.signal(Signal::KILL);
    let begun = Instant::now();
    let answer = server.admin().resume(&session.client).glance().await;
    assert_eq!(reply(&answer)["advice"]["reconnect"], "handshake", "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn session_on_a_socket_moves_to_a_long_poll_and_to_a_socket_elsewhere() {
    let [a, b] = TestServer::start_two().await;
    let callers = [a.admin(), b.admin()];
    let device = callers[0].create_device("pump").await;
    let (mut socket, client) = Socket::listen(&callers[0], "/alarms/*").await;
    let first = raise(&callers, &device, 2, "socket").await;
    for alarm in &first {
        assert_eq!(id(&socket.message().await["data"]["data"]), *alarm);
    }

    let at_b = callers[1].resume(&client);
    assert_eq!(told(&at_b.glance().await), Vec::<String>::new());
    assert!(socket.closed().await.is_some(), "the socket of the earlier server ends");
    let second = raise(&callers, &device, 2, "poll").await;
    assert_eq!(receive_in_turn(&[at_b], 2).await, second);

    // A browser can send no credentials for its new socket; the clientId identifies the user.
    let stranger = Caller::new(a.base(), None);
    let mut socket = Socket::open(&stranger, REALTIME).await;
    let third = raise(&callers, &device, 1, "back").await;
    socket.send(json!([connect(&client)]).to_string()).await;
    assert_eq!(id(&socket.message().await["data"]["data"]), third[0]);
    let fourth = raise(&callers, &device, 1, "again").await;
    assert_eq!(id(&socket.message().await["data"]["data"]), fourth[0]);
}

#[tokio::test]
async fn subscription_to_a_family_moves_without_a_gap() {
    let [a, b] = TestServer::start_two().await;
    let callers = [a.admin(), b.admin()];
    let (parent, device) = (callers[0].create_device("hall").await, callers[0].create_device("pump").await);
    let path = format!("/inventory/managedObjects/{parent}/childDevices");
    callers[0].post(&path, &json!({"managedObject": {"id": device}})).await.expect(201);
    let at_a = callers[0].listen(&format!("/alarmsWithChildren/{parent}")).await;
    let sessions = [callers[1].resume(&at_a.client), at_a];
    let (raised, received) =
        tokio::join!(raise(&callers, &device, 100, "t"), receive_in_turn(&sessions, 100));
    assert_eq!(received, raised);
}

#[tokio::test]
async fn subscription_to_a_group_moves_without_a_gap() {
    let [a, b] = TestServer::start_two().await;
    let callers = [a.admin(), b.admin()];
    let device = callers[0].create_device("pump").await;
    let group = callers[0].create_dynamic_group("name eq 'pump'").await;
    let at_a = callers[0].listen(&format!("/alarms/group:{group}")).await;
    let sessions = [callers[1].resume(&at_a.client), at_a];
    let (raised, received) =
        tokio::join!(raise(&callers, &device, 100, "t"), receive_in_turn(&sessions, 100));
    assert_eq!(received, raised);
}

#[tokio::test]
async fn user_without_the_right_to_a_channel_cannot_take_a_session_along() {
    let [a, b] = TestServer::start_two().await;
    let joe = a.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let session = joe.listen("/alarms/*").await;
    let at_b = b.caller("joe", ADMIN_PASSWORD).resume(&session.client);
    assert!(at_b.is_known().await);
    assert_eq!(a.admin().delete("/user/main/users/joe/roles/ROLE_ALARM_READ").await.status, 204);
    assert!(!session.is_known().await);
    assert!(!at_b.is_known().await);
}
