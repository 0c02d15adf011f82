//! Audit records in PostgreSQL. Those the server writes by itself belong to the transaction of the change they tell of.

use deadpool_postgres::GenericClient;
use tokio_postgres::types::Json;

use crate::error::Result;
use crate::model::audit_record::NewAuditRecord;
use crate::model::id::{AuditRecordId, TenantId};

const INSERT: &str = include_str!("../../../sql/queries/audit_records/insert.sql");

/// Inserts a record, as part of the caller's transaction.
pub(crate) async fn insert_audit_record(
    client: &impl GenericClient,
    tenant: &TenantId,
    id: AuditRecordId,
    record: &NewAuditRecord,
) -> Result<()> {
    let statement = client.prepare_cached(INSERT).await?;
    let no_application: Option<&str> = None;
    let no_fragments = serde_json::json!({});
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 13] = [
        &tenant.as_str(),
        &id.0,
        &record.type_,
        &record.activity,
        &record.time.instant(),
        &record.time.offset_minutes(),
        &record.text,
        &record.source,
        &record.user,
        &no_application,
        &record.severity,
        &Json(&record.changes),
        &Json(no_fragments),
    ];
    client.execute(&statement, &parameters).await?;
    Ok(())
}
