//! An upload in chunks can be continued after the server was stopped or killed and started again.

use rustix::process::Signal;

use super::*;

#[tokio::test]
async fn upload_continues_after_a_restart() {
    let Scene { server, admin, path, .. } = Scene::alone().await;
    let database = server.shared_database();
    let content = bytes(700_000);
    assert_eq!(chunk(&admin, &path, "0-299999/*", &content[..300_000]).await.status, 200);
    server.stop().await;

    let (_server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();
    assert_eq!(admin.get(&path).await.status, 404);
    assert_eq!(chunk(&admin, &path, "300000-699999/700000", &content[300_000..]).await.status, 201);

    assert!(download(&admin, &path).await == content);
}

#[tokio::test]
async fn acknowledged_chunks_survive_the_kill_of_server_and_database() {
    let directory = scratch_with_data();
    let serve = || {
        let mut command = Program::command(directory.path(), &[]);
        command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
        Program::serve_with(command)
    };
    let admin = |program: &Program| Caller::new(program.base(), Some(("admin", "admin-secret")));
    let content = bytes(900_000);
    let program = serve();
    let device = admin(&program).create_device("door").await;
    let event = path_of(&admin(&program).create_event(&device, "log").await);
    let path = format!("{event}/binaries");

    let mut program = program;
    for n in 0..2 {
        let (from, to) = (n * 300_000, (n + 1) * 300_000);
        let range = format!("{from}-{}/*", to - 1);
        assert_eq!(chunk(&admin(&program), &path, &range, &content[from..to]).await.status, 200);
        program.signal(Signal::KILL);
        drop(program);
        program = serve();
        let event = admin(&program).read(&event).await;
        assert_eq!(event["plat_IsIncompleteBinary"]["range"], format!("0-{}/*", to - 1));
    }
    chunk(&admin(&program), &path, "600000-899999/900000", &content[600_000..]).await.expect(201);

    assert!(download(&admin(&program), &path).await == content);
}
