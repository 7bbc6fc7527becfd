//! When a request is retried: how often and after how long. Numbers in, durations out; no clock, no
//! sleep.

use std::time::Duration;

/// Retries of one request, as in the reference implementation (the vendor's own clients make two).
pub const RETRIES: u32 = 4;
/// Retries after a timeout of thirty seconds: nobody waits for two and a half minutes.
pub const TIMEOUT_RETRIES: u32 = 1;
/// First wait; the vendor's clients, 0.6 and 0.7: 500 ms, doubled each time, at most 5 s, minus up
/// to a quarter.
const FIRST_MS: u64 = 500;
const LONGEST_MS: u64 = 5_000;
/// Longest delay that a server can ask for. The vendor's JavaScript client: 60 s.
pub const LONGEST_SERVER_DELAY: Duration = Duration::from_secs(60);

/// The wait before retry number `retry` (from 1). `random` is any number.
#[must_use]
pub fn backoff(retry: u32, random: u64) -> Duration {
    let doubled = FIRST_MS << retry.saturating_sub(1).min(10);
    let whole = doubled.min(LONGEST_MS);
    Duration::from_millis(whole - random % (whole / 4 + 1))
}

/// The delay that a server asked for: `retry-after-ms`, or else `Retry-After` in seconds or as a
/// date. `now` is in seconds since
/// 1970. Negative and unreadable values count as absent.
#[must_use]
pub fn server_delay(ms: Option<&str>, after: Option<&str>, now: u64) -> Option<Duration> {
    let number =
        |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    let from_ms = ms.and_then(number).map(|ms| ms / 1_000.0);
    let seconds = from_ms.or_else(|| after.and_then(number));
    let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let until =
        || after.and_then(http_date).map(|date| Duration::from_secs(date.saturating_sub(now)));
    seconds.or_else(until)
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` in seconds since 1970.
fn http_date(text: &str) -> Option<u64> {
    let mut parts = text.trim().split_once(", ")?.1.split(' ');
    let day: u64 = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let names =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = names.iter().position(|n| *n == name)? as u64 + 1;
    let year: u64 = parts.next()?.parse().ok().filter(|y| (1970..10_000).contains(y))?;
    let mut clock = parts.next()?.split(':').map(str::parse::<u64>);
    let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
    if !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// The day number of a date of the Gregorian calendar (Hinnant's `days_from_civil`, years from 1970
/// on).
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_seconds_minus_a_quarter() {
        for (retry, most) in [(1, 500), (2, 1_000), (3, 2_000), (4, 4_000), (5, 5_000), (99, 5_000)]
        {
            assert_eq!(backoff(retry, 0), Duration::from_millis(most));
            for random in [1, 7, 12_345, u64::MAX] {
                let wait = backoff(retry, random);
                assert!(wait <= Duration::from_millis(most), "{wait:?}");
                assert!(wait >= Duration::from_millis(most - most / 4), "{wait:?}");
            }
        }
    }

    #[track_caller]
    fn check(ms: Option<&str>, after: Option<&str>, expected: Option<u64>) {
        let now = 784_111_770; // seven seconds before the date below
        assert_eq!(server_delay(ms, after, now), expected.map(Duration::from_millis));
    }

    #[test]
    fn server_delays_are_read_in_all_their_forms() {
        check(Some("20"), Some("9"), Some(20));
        check(None, Some("1"), Some(1_000));
        check(None, Some("0.25"), Some(250));
        check(None, Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some(7_000));
        check(None, Some("Sun, 06 Nov 1970 08:49:37 GMT"), Some(0));
        check(Some("-5"), None, None);
        check(Some("NaN"), Some("soon"), None);
        check(Some("1e300"), None, None);
        check(None, Some("Sun, 99 Nov 1994 08:49:37 GMT"), None);
        check(None, None, None);
    }
}
