//! `/tenant/statistics`, its summary, and the summaries of all tenants (Z-07), as JSON and as tables.

use actix_web::HttpResponse;
use actix_web::http::header;
use platform_actors::Platform;
use platform_front::csv_table::{self, Cell, Table};
use platform_model::error::Error;
use platform_model::role;
use platform_model::tenancy::statistics::{
    AllSummaries, DailyStatistics, Day, OwnSummary, StatisticsSummary,
};
use platform_store::statistics::days::{Days, list_days, summarize, summarize_below};

use super::requested_tenant;
use crate::auth::Caller;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// The separator of application names in a cell.
const SEPARATOR: &str = ", ";

/// `GET /tenant/statistics`: returns a page of the statistics of a tenant by day, newest first, or a table when the
/// client prefers `text/csv`.
///
/// # Errors
/// 403 without ROLE_TENANT_STATISTICS_READ, for another tenant without ROLE_TENANT_MANAGEMENT_READ; 404 for a tenant
/// that is unknown or that the caller's tenant does not manage; 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let query = Query::parse(head.query_string());
    let tenant = requested_tenant(&caller, &platform, &query).await?;
    let name = "tenantUsageStatisticsCollection";
    let as_csv = head.prefers("text/csv", name);
    let media_type = if as_csv { csv_table::MEDIA_TYPE.into() } else { head.accepted(name)? };
    let days = days(&query)?;
    let listing = Listing::new(&head, media_type, query)?;
    let page = list_days(platform.database(), &tenant, days, &listing.request).await?;
    if as_csv {
        return Ok(as_table(table_of_days(&page.members)));
    }
    listing.respond("usageStatistics", &page)
}

/// `GET /tenant/statistics/summary`: returns the statistics of a tenant over several days.
///
/// # Errors
/// The errors of [`list`].
pub async fn get_summary(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let query = Query::parse(head.query_string());
    let tenant = requested_tenant(&caller, &platform, &query).await?;
    let name = "tenantUsageStatisticsSummary";
    let as_csv = head.prefers("text/csv", name);
    let media_type = if as_csv { String::new() } else { head.accepted(name)? };
    let summary = summarize(platform.database(), &tenant, days(&query)?).await?;
    if as_csv {
        return Ok(as_table(table_of_summaries(&[summary])));
    }
    Ok(reply::found(media_type, &OwnSummary(summary), &head.links()))
}

/// `GET /tenant/statistics/allTenantsSummary`: returns the statistics of each tenant that the caller's tenant manages,
/// over several days.
///
/// # Errors
/// 403 without ROLE_TENANT_MANAGEMENT_READ, 422 for an invalid parameter.
pub async fn list_summaries(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::TENANT_MANAGEMENT_READ)?;
    let query = Query::parse(head.query_string());
    let name = "allTenantsSummary";
    let as_csv = head.prefers("text/csv", name);
    let media_type = if as_csv { String::new() } else { head.accepted(name)? };
    let summaries = summarize_below(platform.database(), &caller.tenant, days(&query)?).await?;
    if as_csv {
        return Ok(as_table(table_of_summaries(&summaries)));
    }
    Ok(reply::found(media_type, &AllSummaries(summaries), &head.links()))
}

/// Parses `dateFrom` and `dateTo`, the first and the last day. A time stands for its day in UTC.
fn days(query: &Query) -> Result<Days> {
    let day = |name| Ok::<_, crate::http::error::ApiError>(query.time(name)?.map(Day::of));
    let days = Days { from: day("dateFrom")?, to: day("dateTo")? };
    match (days.from, days.to) {
        (Some(from), Some(to)) if from > to => {
            let given = query.get("dateTo").unwrap_or_default();
            Err(Error::invalid_value("dateTo", given, "a day that is not before 'dateFrom'").into())
        }
        _ => Ok(days),
    }
}

fn as_table(table: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CONTENT_TYPE, csv_table::MEDIA_TYPE)).body(table)
}

fn table_of_days(days: &[DailyStatistics]) -> Vec<u8> {
    let cells = |day: &DailyStatistics| {
        let measures = day.measures.clone().unwrap_or_default();
        let numbers: Vec<(&'static str, i64)> =
            day.counts.named().into_iter().chain(measures.named()).collect();
        (numbers, measures.subscribed_applications.join(SEPARATOR))
    };
    let empty = DailyStatistics { day: Day(0), counts: Default::default(), measures: None };
    let names = cells(&empty).0.into_iter().map(|(name, _)| name);
    let columns: Vec<&str> = ["day"].into_iter().chain(names).chain(["subscribedApplications"]).collect();
    let mut table = Table::new(&columns);
    for day in days {
        let (numbers, applications) = cells(day);
        let (date, numbers) = (day.day.to_string(), numbers.iter().map(|(_, number)| number.to_string()));
        let numbers: Vec<String> = numbers.collect();
        let own = std::iter::once(&date).chain(&numbers).map(|text| Cell::Own(text));
        table.cells(own.chain([Cell::Foreign(&applications)]));
    }
    table.finish()
}

fn table_of_summaries(summaries: &[StatisticsSummary]) -> Vec<u8> {
    let names: Vec<&str> =
        summaries.first().into_iter().flat_map(StatisticsSummary::named).map(|(name, _)| name).collect();
    let of_tenant = ["tenantId", "tenantDomain", "tenantCompany", "parentTenantId", "creationTime"];
    let columns: Vec<&str> = of_tenant.into_iter().chain(names).chain(["subscribedApplications"]).collect();
    let mut table = Table::new(&columns);
    for summary in summaries {
        let numbers: Vec<String> = summary.named().map(|(_, number)| number.to_string()).collect();
        let created = summary.created.to_string();
        let applications = summary.measures.subscribed_applications.join(SEPARATOR);
        let of_tenant = [
            Cell::Own(summary.tenant.as_str()),
            Cell::Foreign(&summary.domain),
            Cell::Foreign(&summary.company),
            Cell::Own(summary.parent.as_deref().unwrap_or_default()),
            Cell::Own(&created),
        ];
        let numbers = numbers.iter().map(|text| Cell::Own(text));
        table.cells(of_tenant.into_iter().chain(numbers).chain([Cell::Foreign(&applications)]));
    }
    table.finish()
}
