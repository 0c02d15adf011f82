//! The rights to read and to set limits.

use super::super::manager_with;
use super::*;

#[tokio::test]
async fn tenant_reads_its_own_limits_and_cannot_set_them() {
    let (_server, boss) = with_tenant("t7").await;

    assert_eq!(boss.get(OWN).await.status, 200);
    assert_eq!(boss.get(&path_of("t7")).await.status, 404, "it does not manage itself");
    assert_eq!(boss.put(&path_of("t7"), &json!({"devices": 1})).await.status, 404);
    assert_eq!(boss.put(OWN, &json!({"devices": 1})).await.status, 405);
}

#[tokio::test]
async fn parent_sets_limits_of_its_sub_tenants_and_of_nobody_else() {
    let server = TestServer::start().await;
    let reseller = create_reseller(&server, "t7").await;
    create_tenant(&server, "t9").await;
    reseller.create("/tenant/tenants", &super::super::tenant_of("t8")).await;

    assert_eq!(reseller.put(&path_of("t8"), &json!({"devices": 1})).await.status, 200);
    for other in ["t9", "t7", "management", "t0"] {
        assert_eq!(reseller.get(&path_of(other)).await.status, 404, "{other}");
        assert_eq!(reseller.put(&path_of(other), &json!({"devices": 1})).await.status, 404, "{other}");
    }
}

#[tokio::test]
async fn roles_of_tenant_management_are_checked_literally() {
    let (server, _) = with_tenant("t7").await;

    for (role, get, put) in [
        ("ROLE_TENANT_MANAGEMENT_READ", 200, 403),
        ("ROLE_TENANT_MANAGEMENT_UPDATE", 403, 200),
        ("ROLE_TENANT_MANAGEMENT_ADMIN", 403, 200),
        ("ROLE_TENANT_MANAGEMENT_CREATE", 403, 403),
    ] {
        let manager = manager_with(&server, &role.to_lowercase(), &[role]).await;
        let read = manager.get(&path_of("t7")).await.status;
        let set = manager.put(&path_of("t7"), &json!({"devices": 1})).await.status;
        assert_eq!((read, set), (get, put), "{role}");
    }
}
