//! A complete microservice (docs/rules.md#applications-and-microservices). It starts with only the environment of W-14,
//! lists its subscribers with its bootstrap user, acts as a service user in each of these tenants, and responds to the
//! requests that the platform forwards.

use std::collections::HashMap;

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

use super::*;

/// The environment variables of a microservice (W-14).
type Environment = HashMap<&'static str, String>;

/// The microservice: it counts, in each tenant that subscribes, who called it how often.
struct Counter {
    environment: Environment,
}

impl Counter {
    /// Returns a caller with the credentials that a microservice has received.
    fn caller(&self, tenant: &str, user: &str, password: &str) -> Caller {
        Caller::new(&self.environment["PLAT_BASEURL"], Some((&format!("{tenant}/{user}"), password)))
    }

    /// The bootstrap user: it may learn who subscribes, and nothing else.
    fn bootstrap(&self) -> Caller {
        let of = |name: &str| self.environment[name].as_str();
        self.caller(of("PLAT_BOOTSTRAP_TENANT"), of("PLAT_BOOTSTRAP_USER"), of("PLAT_BOOTSTRAP_PASSWORD"))
    }

    /// One service user for each tenant that subscribes.
    async fn service_users(&self) -> HashMap<String, Caller> {
        let subscriptions = self.bootstrap().read("/application/currentApplication/subscriptions").await;
        let users = subscriptions["users"].as_array().unwrap().iter().map(|user| {
            let of = |member: &str| user[member].as_str().unwrap();
            (of("tenant").to_owned(), self.caller(of("tenant"), of("name"), of("password")))
        });
        users.collect()
    }

    /// Starts with creating its object in every tenant that subscribes.
    async fn start(environment: Environment) -> (Self, HashMap<String, String>) {
        assert_eq!(environment["PLAT_MICROSERVICE_ISOLATION"], "MULTI_TENANT");
        let counter = Self { environment };
        let mut objects = HashMap::new();
        for (tenant, service) in counter.service_users().await {
            let object = json!({"name": format!("Counter of {tenant}"), "acme_Counter": {}});
            let object = service.create("/inventory/managedObjects", &object).await;
            objects.insert(tenant, object["id"].as_str().unwrap().to_owned());
        }
        (counter, objects)
    }

    /// Responds to a request that the platform has authenticated: with the caller, and with the name of its object in
    /// the caller's tenant, which it reads as its service user there.
    async fn answer(&self, objects: &HashMap<String, String>, request: &HttpRequest, body: String) -> Value {
        let header = |name: &str| request.headers().get(name).unwrap().to_str().unwrap().to_owned();
        let tenant = header("X-Platform-Tenant");
        let service = self.service_users().await.remove(&tenant).unwrap();
        let object = service.read(&format!("/inventory/managedObjects/{}", objects[&tenant])).await;
        json!({
            "path": request.uri().to_string(),
            "said": body,
            "user": header("X-Platform-User"),
            "tenant": tenant,
            "reads alarms": header("X-Platform-Roles").split(',').any(|role| role == "ROLE_ALARM_READ"),
            "knows the password": request.headers().contains_key("Authorization"),
            "object": object["name"],
            "owner": object["owner"],
        })
    }
}

/// Listens for the platform and returns the address.
fn listen(counter: Counter, objects: HashMap<String, String>) -> String {
    let state = web::Data::new((counter, objects));
    let answer =
        async |request: HttpRequest, state: web::Data<(Counter, HashMap<String, String>)>, body: String| {
            HttpResponse::Created().json(state.0.answer(&state.1, &request, body).await)
        };
    let (address, started) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        actix_web::rt::System::new().block_on(async move {
            let app = move || App::new().app_data(state.clone()).default_service(web::to(answer));
            let server = HttpServer::new(app).workers(1).bind("127.0.0.1:0").unwrap();
            address.send(server.addrs()[0]).unwrap();
            server.run().await
        })
    });
    format!("http://{}", started.recv().unwrap())
}

#[tokio::test]
async fn sample_microservice_serves_two_tenants() {
    // Three tenants: the owner of the microservice, one that subscribes, and one that does not.
    let database = TestDatabase::create().await;
    database.insert_tenant("plant7", "plant7.example.com").await;
    database.insert_tenant("plant8", "plant8.example.com").await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let [owner, customer, other] =
        ["main/admin", "plant7/admin", "plant8/admin"].map(|user| server.caller(user, ADMIN_PASSWORD));

    // The owner creates the application, and the tenants subscribe to it.
    let application = json!({"name": "counter", "key": "counter-key", "type": "MICROSERVICE",
        "availability": "MARKET", "requiredRoles": ["ROLE_INVENTORY_CREATE", "ROLE_INVENTORY_READ"],
        "roles": ["ROLE_COUNTER_READ"]});
    let application = owner.create("/application/applications", &application).await;
    let (id, reference) =
        (application["id"].as_str().unwrap(), json!({"application": {"id": application["id"]}}));
    owner.create("/tenant/tenants/main/applications", &reference).await;
    customer.create("/tenant/tenants/plant7/applications", &reference).await;

    // The operator requests the bootstrap user and sets the environment.
    let bootstrap = owner.read(&format!("/application/applications/{id}/bootstrapUser")).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let environment = HashMap::from([
        ("PLAT_BASEURL", server.base().to_owned()),
        ("PLAT_BOOTSTRAP_TENANT", text(&bootstrap["tenant"])),
        ("PLAT_BOOTSTRAP_USER", text(&bootstrap["name"])),
        ("PLAT_BOOTSTRAP_PASSWORD", text(&bootstrap["password"])),
        ("PLAT_MICROSERVICE_ISOLATION", "MULTI_TENANT".to_owned()),
    ]);
    let (counter, objects) = Counter::start(environment).await;

    // The bootstrap user may do nothing else; in both tenants the microservice acted as its service user.
    assert_eq!(counter.bootstrap().get("/inventory/managedObjects").await.status, 403);
    let mut tenants: Vec<&String> = objects.keys().collect();
    tenants.sort();
    assert_eq!(tenants, ["main", "plant7"]);
    assert_eq!(
        customer.read(&format!("/inventory/managedObjects/{}", objects["plant7"])).await["owner"],
        "service_counter"
    );
    assert_eq!(customer.get(&format!("/inventory/managedObjects/{}", objects["main"])).await.status, 404);

    // The operator sets the address; from then on the platform forwards calls.
    assert_eq!(customer.get("/service/counter/hits").await.status, 503);
    let address = listen(counter, objects);
    route(server.database(), "counter", Some(&address)).await.unwrap();

    for (caller, tenant) in [(&owner, "main"), (&customer, "plant7")] {
        let request = caller.request("POST", "/service/counter/hits?day=today").body("one more");
        let answer = request.header("X-Platform-Tenant", "plant8").send().await.expect(201);
        let expected = json!({
            "path": "/hits?day=today",
            "said": "one more",
            "user": "admin",
            "tenant": tenant,
            "reads alarms": true,
            "knows the password": false,
            "object": format!("Counter of {tenant}"),
            "owner": "service_counter",
        });
        assert_eq!(answer.json(), expected);
    }
    assert_eq!(other.get("/service/counter/hits").await.status, 403, "it does not subscribe");
}
