//! The files of sql/migrations, which are part of the program. A new one needs a line here.

/// The names and texts of migrations.
macro_rules! texts_of {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../sql/migrations/", $name, ".sql")))),*]
    };
}

/// All files in sql/migrations. The macro of `refinery` that finds them would compile a dozen libraries twice.
pub(super) const MIGRATIONS: &[(&str, &str)] = texts_of![
    "V01__tenants_inventory_alarms",
    "V02__links_identity_groups_options",
    "V03__inventory_search",
    "V04__binaries",
    "V05__users_by_name_group_numbers",
    "V06__measurement_series",
    "V07__descendants",
    "V08__measurements",
    "V09__events",
    "V10__bulk_alarm_updates",
    "V11__availability",
    "V12__open_alarms_by_time",
    "V13__measurement_rollups",
    "V14__operations",
    "V15__bulk_operations",
    "V16__device_registration",
    "V17__applications",
    "V18__access_tokens",
    "V19__account_limits",
    "V20__modules",
    "V21__module_leases_without_index_by_end",
    "V22__rights_of_devices",
    "V23__module_sessions",
    "V24__statements_switched_off",
    "V25__warnings_of_modules",
    "V26__lineage_by_index",
    "V27__servers__works_with_V26",
    "V28__publications_between_servers",
    "V29__modules_stay_where_they_are",
    "V30__sessions_move__works_with_V26",
    "V31__one_membership",
    "V32__retention__works_with_V26",
    "V33__user_sessions",
    "V34__tenant_usage__works_with_V26",
    "V35__statistics__works_with_V26",
    "V36__tenant_limits__works_with_V26",
    "V37__tenant_counts__works_with_V26",
    "V38__years__works_with_V37",
    "V39__signed_messages__works_with_V37",
    "V40__user_tokens__works_with_V37",
    "V41__consumers",
    "V42__filters_of_consumers",
    "V43__traces__works_with_V42",
    "V44__revisions__works_with_V42",
    "V45__idempotency_keys__works_with_V42",
    "V46__identity_providers__works_with_V42",
    "V47__second_factors__works_with_V42",
    "V48__device_certificates__works_with_V42",
    "V49__sessions_of_identity_providers__works_with_V42",
    "V50__keys_with_tenant__works_with_V42",
    "V51__moved_tenants__works_with_V42",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::read_dir;

    use super::*;

    #[test]
    fn every_file_is_listed() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql/migrations");
        let entries = read_dir(directory).expect("the directory is there");
        let files: BTreeSet<_> = entries.map(|entry| entry.expect("readable").file_name()).collect();
        let listed: BTreeSet<_> = MIGRATIONS.iter().map(|(name, _)| format!("{name}.sql").into()).collect();
        assert_eq!(listed, files);
    }
}
