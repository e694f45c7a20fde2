//! Periods of a budget: hours, days, weeks and months in UTC.

use banister::budget::Period;

use crate::time::Timestamp;

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

/// Start and end of the period that a moment is in; the end is in the next one.
pub fn bounds(period: Period, time: Timestamp) -> (Timestamp, Timestamp) {
    let aligned = |length: i64, offset: i64| {
        let start = time.0 - (time.0 - offset).rem_euclid(length);
        (Timestamp(start), Timestamp(start.saturating_add(length)))
    };
    match period {
        Period::Hour => aligned(HOUR, 0),
        Period::Day => aligned(DAY, 0),
        // 1970 began on a Thursday.
        Period::Week => aligned(7 * DAY, 4 * DAY),
        Period::Month => {
            let month = month_of(time.0.div_euclid(DAY));
            let start = |month: i64| Timestamp(first_day(month).saturating_mul(DAY));
            (start(month), start(month + 1))
        }
    }
}

/// Days from 1970 to the first of a month, which is counted from January 1970.
fn first_day(month: i64) -> i64 {
    // Years that begin in March have their leap day last, and months in the pattern 31, 30, 31, 30, 31.
    let march = month + 10;
    let (year, place) = (1969 + march.div_euclid(12), march.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * place + 2) / 5 - 719_468
}

/// Month of a day, both counted from January 1970.
fn month_of(day: i64) -> i64 {
    // By the mean length of a month, and at most one off.
    let near = (day as f64 / 30.436_875).floor() as i64;
    let months = [near + 1, near, near - 1];
    let found = months.into_iter().find(|&month| first_day(month) <= day);
    found.unwrap_or(near - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        humantime::parse_rfc3339(text).unwrap().into()
    }

    #[test]
    fn periods_begin_where_people_expect_them() {
        for (period, time, start, end) in [
            (
                Period::Hour,
                "2026-03-01T07:59:59Z",
                "2026-03-01T07:00:00Z",
                "2026-03-01T08:00:00Z",
            ),
            (
                Period::Day,
                "2026-03-01T00:00:00Z",
                "2026-03-01T00:00:00Z",
                "2026-03-02T00:00:00Z",
            ),
            (
                Period::Week,
                "2026-03-01T23:00:00Z",
                "2026-02-23T00:00:00Z",
                "2026-03-02T00:00:00Z",
            ),
            (
                Period::Week,
                "2026-03-02T00:00:00Z",
                "2026-03-02T00:00:00Z",
                "2026-03-09T00:00:00Z",
            ),
            (
                Period::Month,
                "2024-02-29T12:00:00Z",
                "2024-02-01T00:00:00Z",
                "2024-03-01T00:00:00Z",
            ),
            (
                Period::Month,
                "2026-12-31T23:59:59Z",
                "2026-12-01T00:00:00Z",
                "2027-01-01T00:00:00Z",
            ),
            (
                Period::Month,
                "2100-02-28T00:00:00Z",
                "2100-02-01T00:00:00Z",
                "2100-03-01T00:00:00Z",
            ),
        ] {
            assert_eq!(
                bounds(period, at(time)),
                (at(start), at(end)),
                "{period:?} {time}"
            );
        }
    }

    #[test]
    fn months_follow_each_other_day_by_day() {
        // By counting: every day of four centuries is in the month before, or begins a new one.
        let (mut month, mut left) = (0, 31);
        for day in 0..146_097 {
            if left == 0 {
                month += 1;
                let (year, place) = (1970 + month / 12, month % 12);
                let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                left = [
                    31,
                    28 + i64::from(leap),
                    31,
                    30,
                    31,
                    30,
                    31,
                    31,
                    30,
                    31,
                    30,
                    31,
                ][place as usize];
                assert_eq!(first_day(month), day);
            }
            assert_eq!(month_of(day), month, "{day}");
            left -= 1;
        }
    }
}
