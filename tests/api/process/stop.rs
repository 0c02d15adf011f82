//! SIGTERM: an orderly end.

use rustix::process::Signal;

use super::*;

const ADMIN: Option<(&str, &str)> = Some(("admin", "admin-secret"));
/// The longest time from the signal to the end of the process.
const END: Duration = Duration::from_secs(25);

fn serve(directory: &std::path::Path) -> Program {
    let mut command = Program::command(directory, &[]);
    // A held poll gets its head with the first space.
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret").env("PLATFORM_KEEP_ALIVE_SECONDS", "1");
    Program::serve_with(command)
}

#[tokio::test]
async fn sigterm_releases_held_polls_with_retry_advice_and_exits_0() {
    let directory = scratch_with_data();
    let mut program = serve(directory.path());
    let admin = Caller::new(program.base(), ADMIN);
    let mut holding = Vec::new();
    for _ in 0..10 {
        let session = admin.listen("/alarms/*").await;
        holding.push(tokio::spawn(async move { session.hold().await }));
    }
    let mut held = Vec::new();
    for poll in holding {
        held.push(poll.await.unwrap());
    }

    program.signal(Signal::TERM);

    for connect in held {
        let answer = within(Duration::from_secs(10), "a released poll", connect.answer()).await;
        let reply = reply(&answer);
        assert_eq!((answer.len(), &reply["successful"]), (1, &json!(true)), "{answer:?}");
        // The clients of so few sessions need not pause (B-09a).
        assert_eq!(reply["advice"], json!({"interval": 0, "timeout": 5_400_000, "reconnect": "retry"}));
    }
    let status = program.ended_within(END).await;
    assert_eq!(status.code(), Some(0), "{}", program.log());
}

#[tokio::test]
async fn sigterm_ends_open_websockets_too() {
    let directory = scratch_with_data();
    let mut program = serve(directory.path());
    let admin = Caller::new(program.base(), ADMIN);
    let (mut socket, _) = Socket::listen(&admin, "/alarms/*").await;

    program.signal(Signal::TERM);

    assert_eq!(program.ended_within(END).await.code(), Some(0), "{}", program.log());
    socket.closed().await;
}

#[tokio::test]
async fn sigterm_finishes_the_writes_under_way() {
    let directory = scratch_with_data();
    let mut program = serve(directory.path());
    let admin = Caller::new(program.base(), ADMIN);
    let device = admin.create_device("pump").await;
    let posts: Vec<_> = (0..50)
        .map(|n| {
            let (admin, body) = (admin.clone(), alarm_of(&device, &format!("type {n}")));
            tokio::spawn(async move {
                // A connection that the stopping server did not accept was never acknowledged.
                let request = admin.request("POST", "/alarm/alarms").json(&body);
                request.try_send().await.filter(|answer| answer.status == 201).map(|_| n)
            })
        })
        .collect();
    admin.read("/alarm/alarms").await;

    program.signal(Signal::TERM);

    let mut acknowledged = Vec::new();
    for post in posts {
        acknowledged.extend(within(END, "an answer", post).await.unwrap());
    }
    assert_eq!(program.ended_within(END).await.code(), Some(0), "{}", program.log());
    let again = serve(directory.path());
    let list = Caller::new(again.base(), ADMIN).read("/alarm/alarms?pageSize=100").await;
    let stored = crate::harness::member_texts(&list, "alarms", "type");
    let lost: Vec<_> = acknowledged.iter().filter(|n| !stored.contains(&format!("type {n}"))).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[tokio::test]
async fn sigterm_stops_the_private_database_too() {
    let directory = scratch_with_data();
    let mut program = serve(directory.path());
    let pid_file = directory.path().join("data/postgres/postmaster.pid");
    assert!(pid_file.exists());

    program.signal(Signal::TERM);

    assert_eq!(program.ended_within(END).await.code(), Some(0), "{}", program.log());
    assert!(!pid_file.exists(), "PostgreSQL removes it at its end");
    assert!(std::net::TcpStream::connect(program.base().strip_prefix("http://").unwrap()).is_err());
}

#[tokio::test]
async fn ctrl_c_ends_the_server_like_sigterm() {
    let directory = scratch_with_data();
    let mut program = serve(directory.path());

    program.signal(Signal::INT);

    assert_eq!(program.ended_within(END).await.code(), Some(0), "{}", program.log());
}

#[tokio::test]
async fn sigterm_ends_a_busy_server_within_seconds_and_its_clients_come_back() {
    const EACH: usize = 300;
    let directory = scratch_with_data();
    let mut program = serve(directory.path());
    let admin = Caller::new(program.base(), ADMIN);
    let mut holding = tokio::task::JoinSet::new();
    for _ in 0..EACH {
        let admin = admin.clone();
        holding.spawn(async move { admin.session().await.hold().await });
    }
    let held = holding.join_all().await;
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..EACH {
        let admin = admin.clone();
        opening.spawn(async move { Socket::listen(&admin, "/alarms/*").await.0 });
    }
    let sockets = opening.join_all().await;
    let address = program.base().strip_prefix("http://").unwrap().parse().unwrap();
    let mut unfinished = RawConnection::open(address).await;
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());
    let line = "POST /inventory/managedObjects HTTP/1.1";
    let head = [line, "Host: x", &authorization, "Expect: 100-continue", "Content-Length: 1000"].join("\r\n");
    unfinished.send(format!("{head}\r\n\r\n")).await;
    // The server has read the head. It closes a connection of which it has read nothing.
    unfinished.read_until("100 Continue\r\n\r\n").await;
    unfinished.send("{\"name\":").await;

    let begun = std::time::Instant::now();
    program.signal(Signal::TERM);

    for connect in held {
        let answer = within(Duration::from_secs(10), "a released poll", connect.answer()).await;
        assert_eq!(reply(&answer)["advice"]["reconnect"], "retry");
    }
    let polls = begun.elapsed();
    let answer = unfinished.read_to_end().await;
    let body = begun.elapsed();
    let status = program.ended_within(END).await;
    let end = begun.elapsed();
    println!("polls were answered after {polls:?}, the body after {body:?}, the process ended after {end:?}");
    assert_eq!(status.code(), Some(0), "{}", program.log());
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.to_lowercase().contains("retry-after"), "{answer}");
    assert!(end < Duration::from_secs(10), "{end:?}");
    for mut socket in sockets {
        socket.closed().await;
    }
    let again = serve(directory.path());
    let admin = Caller::new(again.base(), ADMIN);
    assert!(admin.session().await.is_known().await);
}
