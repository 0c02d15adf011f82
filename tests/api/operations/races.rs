//! An agent that subscribes and then asks what is PENDING never misses an operation created in between.

use std::collections::HashSet;

use super::*;

/// Operations created while an agent subscribes and asks, summed over all agents.
const RACES: usize = 10_000;
/// Agents that subscribe in each round.
const AGENTS_AT_ONCE: usize = 24;
/// Operations of each round, each for all of the agents.
const OPERATIONS_AT_ONCE: usize = 24;

/// The operations that an agent found by its query, and the time of the query.
struct Asked {
    begun: Instant,
    ended: Instant,
    pending: HashSet<String>,
}

/// An agent with a session of its own.
struct Agent {
    id: String,
    caller: Caller,
    session: Session,
}

impl Agent {
    async fn create(server: &TestServer, device: &str, n: usize) -> Self {
        let caller = server.admin();
        let id = create_agent(&caller, &format!("agent {n}")).await;
        place_below(&caller, &id, device).await;
        let session = caller.session().await.on(AGENTS);
        Self { id, caller, session }
    }

    /// Subscribes anew and asks for what is pending.
    async fn subscribe_and_ask(&self) -> Asked {
        let subscription = || json!({"subscription": format!("/{}", self.id)});
        let anew = ["/meta/unsubscribe", "/meta/subscribe"]
            .map(|channel| self.session.message(channel, subscription()));
        let begun = Instant::now();
        let replies = self.caller.exchange(AGENTS, &json!(anew)).await;
        assert_eq!(replies[1]["successful"], true, "{replies:?}");
        let path = format!("{OPERATIONS}?agentId={}&status=PENDING&pageSize=2000", self.id);
        let page = self.caller.read(&path).await;
        let pending = page["operations"].as_array().unwrap().iter().map(|o| id_of(o).to_owned()).collect();
        Asked { begun, ended: Instant::now(), pending }
    }

    /// Waits until the agent was notified of every operation that it did not find.
    async fn hear(&self, mut missing: HashSet<&str>) {
        until("operations that an agent neither found nor was told of", async || {
            if !missing.is_empty() {
                for told in notifications(&self.session.glance().await) {
                    missing.remove(id_of(&told["data"]));
                }
            }
            missing.is_empty()
        })
        .await;
    }
}

#[tokio::test]
async fn agent_that_subscribes_and_then_asks_misses_none_of_ten_thousand() {
    let server = TestServer::start_with(|settings| {
        settings.actor_threads = 2;
        settings.read_connections = 8;
    })
    .await;
    let admin = server.admin();
    let device = admin.create_device("sensor").await;
    let mut agents = Vec::new();
    for n in 0..AGENTS_AT_ONCE {
        agents.push(Agent::create(&server, &device, n).await);
    }

    let mut races = 0;
    while races < RACES {
        let creating = join_all((0..OPERATIONS_AT_ONCE).map(async |_| {
            let begun = Instant::now();
            let operation = queue(&admin, &device).await;
            (id_of(&operation).to_owned(), begun, Instant::now())
        }));
        let asking = join_all(agents.iter().map(Agent::subscribe_and_ask));
        let (created, asked) = tokio::join!(creating, asking);

        join_all(agents.iter().zip(&asked).map(async |(agent, asked)| {
            // Operations that existed before the subscription are found by the query.
            let missing = created.iter().map(|(id, ..)| &**id).filter(|id| !asked.pending.contains(*id));
            agent.hear(missing.collect()).await;
        }))
        .await;

        let at_once = |asked: &Asked| {
            created.iter().filter(|(_, begun, ended)| *begun < asked.ended && *ended > asked.begun).count()
        };
        races += asked.iter().map(at_once).sum::<usize>();
        assert_eq!(admin.delete(&format!("{OPERATIONS}?deviceId={device}")).await.status, 204);
    }
    let left = admin.read(&format!("{OPERATIONS}?pageSize=1")).await;
    assert_eq!(left["operations"], json!([]));
}
