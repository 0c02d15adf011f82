//! Calendar timers: computes when `timer:at` fires next, in UTC.
//!
//! Where both the day of the month and the day of the week are restricted, a day matches when either of them does, as
//! in Esper and cron. Dates that never occur (February 30) yield no time.

use time::util::days_in_month;
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

use crate::language::syntax::Schedule;

/// The number of months to search: February 29 can be eight years away, around a century without leap year.
const MONTHS_AHEAD: usize = 8 * 12 + 1;

/// Returns the first moment after `after` that the schedule allows; both are in milliseconds since 1970. The result is
/// none when there is no such moment before the year 10000.
pub(super) fn next_after(schedule: &Schedule, after: i64) -> Option<i64> {
    let earliest = after.div_euclid(1000).checked_add(1)?;
    let earliest = OffsetDateTime::from_unix_timestamp(earliest).ok()?;
    let today = earliest.date();
    if is_allowed_date(schedule, today)
        && let Some(time) = first_time(schedule, earliest.time())
    {
        return millis(today, time);
    }
    let time = first_time(schedule, Time::MIDNIGHT)?;
    millis(first_date(schedule, today.next_day()?)?, time)
}

fn millis(date: Date, time: Time) -> Option<i64> {
    PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp().checked_mul(1000)
}

/// Returns the first allowed date from `from` on.
fn first_date(schedule: &Schedule, from: Date) -> Option<Date> {
    let (mut year, mut month, mut first_day) = (from.year(), from.month(), from.day());
    for _ in 0..=MONTHS_AHEAD {
        if is_allowed(&schedule.months, u8::from(month)) {
            for day in first_day..=days_in_month(month, year) {
                let date = Date::from_calendar_date(year, month, day).ok()?;
                if is_allowed_date(schedule, date) {
                    return Some(date);
                }
            }
        }
        if month == Month::December {
            year += 1;
        }
        month = month.next();
        first_day = 1;
    }
    None
}

fn is_allowed_date(schedule: &Schedule, date: Date) -> bool {
    let Schedule { days_of_month, days_of_week, months, .. } = schedule;
    let of_month = || is_allowed(days_of_month, date.day());
    let of_week = || is_allowed(days_of_week, date.weekday().number_days_from_sunday());
    is_allowed(months, u8::from(date.month()))
        && match (days_of_month.is_empty(), days_of_week.is_empty()) {
            (false, false) => of_month() || of_week(),
            _ => of_month() && of_week(),
        }
}

fn is_allowed(values: &[u8], value: u8) -> bool {
    values.is_empty() || values.contains(&value)
}

/// Returns the first allowed time of a day from `from` on.
fn first_time(schedule: &Schedule, from: Time) -> Option<Time> {
    let Schedule { hours, minutes, seconds, .. } = schedule;
    let (hour, minute, second) = from.as_hms();
    let time = |hour, minute, second| Time::from_hms(hour, minute, second).ok();
    if is_allowed(hours, hour) {
        if is_allowed(minutes, minute)
            && let Some(second) = first_allowed(seconds, second, 59)
        {
            return time(hour, minute, second);
        }
        if let Some(minute) = first_allowed(minutes, minute + 1, 59) {
            return time(hour, minute, first_allowed(seconds, 0, 59)?);
        }
    }
    let hour = first_allowed(hours, hour + 1, 23)?;
    time(hour, first_allowed(minutes, 0, 59)?, first_allowed(seconds, 0, 59)?)
}

/// Returns the first allowed value from `from` on, at most `last`.
fn first_allowed(values: &[u8], from: u8, last: u8) -> Option<u8> {
    if values.is_empty() {
        return (from <= last).then_some(from);
    }
    values.iter().copied().filter(|value| (from..=last).contains(value)).min()
}

#[cfg(test)]
mod tests;
