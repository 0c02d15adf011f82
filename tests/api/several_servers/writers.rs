//! The writers of a server with several actor threads, for a tenant that several servers use
//! (docs/decisions/0036-few-publishing-writers.md).

use futures_util::future::join;

use super::*;

const ALARMS: usize = 12;

/// Two servers with four actor threads each, whose statements that raise alarms take a fifth of a second.
async fn slow_servers(batch_rows: usize) -> Pair {
    let database = TestDatabase::create().await;
    let start = || {
        TestServer::start_on(&database, |settings| {
            (settings.actor_threads, settings.limits.batch_rows) = (4, batch_rows);
        })
    };
    let servers = [start().await, start().await];
    let callers = [servers[0].admin(), servers[1].admin()];
    let sessions = [callers[0].listen("/alarms/*").await, callers[1].listen("/alarms/*").await];
    let pair = Pair { callers, sessions, servers };
    let first = pair.raise_at_once(1).await;
    pair.both_receive(&first).await;
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        PERFORM pg_sleep(0.2); RETURN NULL; END $$; \
        CREATE TRIGGER slow AFTER INSERT ON alarms FOR EACH STATEMENT EXECUTE FUNCTION slow()";
    database.run_script(slow).await;
    pair
}

impl Pair {
    /// Creates devices, raises an alarm of each of them at once, and returns the notifications.
    async fn raise_at_once(&self, devices: usize) -> Vec<String> {
        let admin = &self.callers[0];
        let sources = join_all((0..devices).map(|_| admin.create_device("pump"))).await;
        let alarms: Vec<Value> = sources.iter().map(|source| alarm_of(source, "t")).collect();
        let raised = join_all(alarms.iter().map(|alarm| admin.create("/alarm/alarms", alarm))).await;
        raised.iter().map(|alarm| format!("CREATE {}", id(alarm))).collect()
    }

    /// Asserts that both sessions receive these notifications once, in the same order.
    async fn both_receive_in_one_order(&self, mut expected: Vec<String>) {
        let mut orders = Vec::new();
        for session in &self.sessions {
            orders.push(received(session, expected.len()).await);
            assert!(notifications(&session.glance().await).is_empty(), "nothing comes twice");
        }
        assert_eq!(orders[0], orders[1]);
        orders[0].sort();
        expected.sort();
        assert_eq!(orders[0], expected);
    }

    async fn transactions(&self) -> i64 {
        let count = "SELECT count(DISTINCT xmin::text) FROM alarms";
        self.servers[0].database().query(count, &[]).await[0].get(0)
    }
}

#[tokio::test]
async fn writes_of_a_shared_tenant_need_few_transactions_however_many_threads_there_are() {
    let pair = slow_servers(512).await;

    let raised = pair.raise_at_once(ALARMS).await;

    pair.both_receive_in_one_order(raised).await;
    // The first of all, before these; the first of these, alone or with some others; and the rest.
    let transactions = pair.transactions().await;
    assert!((2..=4).contains(&transactions), "{transactions} transactions");
}

#[tokio::test]
async fn writes_beyond_a_full_transaction_use_the_next_writer() {
    let pair = slow_servers(2).await;
    let database = pair.servers[0].database();
    let both_run = until("two writers run", async || database.count_sleeping().await >= 2);

    let (raised, ()) = join(pair.raise_at_once(ALARMS), both_run).await;

    pair.both_receive_in_one_order(raised).await;
}
