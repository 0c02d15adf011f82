//! Uploads that are interrupted, and servers that end during a registration.

use rustix::process::Signal;

use super::*;

/// Enough rows to interrupt the registration in the middle, and few enough for a busy machine.
const ROWS: usize = 5000;

/// The head of an upload.
async fn begin(server: &TestServer, admin: &Caller, length: usize) -> RawConnection {
    let mut connection = RawConnection::open(server.address()).await;
    let head = [
        &*format!("POST {REGISTRATIONS} HTTP/1.1"),
        "Host: x",
        &format!("Authorization: {}", admin.authorization().unwrap()),
        &format!("Content-Type: {CONTENT_TYPE}"),
        &format!("Content-Length: {length}"),
    ];
    connection.send(format!("{}\r\n\r\n", head.join("\r\n"))).await;
    connection
}

#[tokio::test]
async fn upload_that_breaks_off_has_registered_nothing() {
    let (server, admin) = TestServer::start().await.with_admin();
    let body = form(fleet(ROWS));

    let mut connection = begin(&server, &admin, body.len()).await;
    connection.send(&body[..body.len() - 10]).await;
    connection.reset();

    // The next upload finds no remains of this one.
    let result = register(&admin, format!("ID;CREDENTIALS\na0;{SECRET}\n")).await;
    assert_eq!(counts(&result), [1, 1, 0, 1]);
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn client_that_goes_away_in_the_middle_may_send_the_file_again() {
    let (server, admin) = TestServer::start().await.with_admin();
    let file = fleet(ROWS);

    let body = form(&file);
    let mut connection = begin(&server, &admin, body.len()).await;
    connection.send(&body).await;
    until("the first rows", async || server.count("managed_objects").await > 0).await;
    connection.reset();

    assert_completed(&admin, &file).await;
}

/// Sends a file that was begun: what is there gets its password again, what is not is made, and nothing is half there.
async fn assert_completed(admin: &Caller, file: &str) {
    let count = ROWS as u64;
    let request = admin.request("POST", REGISTRATIONS).header("Content-Type", CONTENT_TYPE).body(form(file));
    let answer = request.send().await.expect(201);
    let [all, created, failed, successful] = counts(&answer.json());
    assert_eq!((all, failed, successful), (count, 0, count));
    assert!(created < count, "nothing was there");
    let page = admin.read("/inventory/managedObjects?pageSize=1&withTotalPages=true").await;
    assert_eq!(page["statistics"]["totalPages"], count);
}

#[tokio::test]
async fn server_killed_in_the_middle_leaves_whole_rows_and_the_file_may_be_sent_again() {
    let directory = scratch_with_data();
    let serve = || {
        let mut command = Program::command(directory.path(), &[]);
        command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
        Program::serve_with(command)
    };
    let caller = |program: &Program| Caller::new(program.base(), Some(("admin", "admin-secret")));
    let mut program = serve();
    let admin = caller(&program);
    let file = fleet(ROWS);

    let request = admin.request("POST", REGISTRATIONS).header("Content-Type", CONTENT_TYPE).body(form(&file));
    let sending = tokio::spawn(request.try_send());
    until("the first rows", async || {
        let page = admin.read("/inventory/managedObjects?pageSize=1").await;
        !page["managedObjects"].as_array().unwrap().is_empty()
    })
    .await;
    program.signal(Signal::KILL);
    program.ended_within(Duration::from_secs(20)).await;
    assert!(sending.await.unwrap().is_none(), "it was faster than the kill");
    drop(program);

    let program = serve();
    let admin = caller(&program);
    let last = admin.read("/inventory/managedObjects?pageSize=2000").await;
    for object in last["managedObjects"].as_array().unwrap().iter().step_by(401) {
        let user = object["owner"].as_str().unwrap();
        Caller::new(program.base(), Some((user, SECRET))).get("/user/currentUser").await.expect(200);
        let id = format!("/identity/externalIds/plat_Serial/{}", user.strip_prefix("device_").unwrap());
        assert_eq!(admin.read(&id).await["managedObject"]["id"], object["id"]);
    }
    assert_completed(&admin, &file).await;
}

#[tokio::test]
async fn two_files_of_one_server_wait_for_each_other_and_both_succeed() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let file = |prefix: &str| fleet(1000).replace("\na", &format!("\n{prefix}"));

    let (file_of_one, file_of_other) = (file("x"), file("y"));
    let (one, other) = tokio::join!(upload(&admin, file_of_one), upload(&admin, file_of_other));

    assert_eq!((one.json(), other.json()), (super::all_created(1000), super::all_created(1000)));
}
