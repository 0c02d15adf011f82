//! Limits of tenants (Z-20).

mod quotas;
mod rates;
mod rights;
mod stored_bytes;
mod two_servers;
mod values;

use super::*;

const OWN: &str = "/tenant/limits";

fn path_of(tenant: &str) -> String {
    format!("/tenant/tenants/{tenant}/limits")
}

/// Sets limits as the administrator of tenant `management`.
async fn set(server: &TestServer, tenant: &str, limits: Value) -> Value {
    management(server).put(&path_of(tenant), &limits).await.expect(200).json()
}

/// Reads one of the limits of the caller's tenant.
async fn limit(caller: &Caller, name: &str) -> Value {
    caller.read(OWN).await["limits"][name].clone()
}

/// Uploads a file of devices and returns the result.
async fn register(caller: &Caller, file: &str) -> Value {
    let boundary = "----boundary4711";
    let form = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"devices.csv\"\r\n\
         Content-Type: text/csv\r\n\r\n{file}\r\n--{boundary}--\r\n"
    );
    let request = caller.request("POST", "/devicecontrol/bulkNewDeviceRequests");
    let request = request.header("Content-Type", &format!("multipart/form-data; boundary={boundary}"));
    request.accepting_json().body(form).send().await.expect(201).json()
}
