//! Times in certificates: parsed from DER, and printed for people.
//!
//! There is no clock here: the caller passes the time of verification. Times are compared in
//! [`crate::verifier`] (pinned leaves) and in path building (all other certificates).

use std::fmt;
use std::time::Duration;

use pki_types::UnixTime;

use crate::der::{self, Element, Malformed};

/// Parses a UTCTime or a GeneralizedTime, both with seconds and in UTC. RFC 5280 4.1.2.5
///
/// A time before 1970, which [`UnixTime`] cannot represent, becomes the start of 1970: the result
/// is equally in the past, as a start and as an end of validity.
pub(crate) fn from_der(element: Element<'_>) -> Result<UnixTime, Malformed> {
    let (year, rest) = match element.tag {
        der::UTC_TIME => {
            let (year, rest) = digits(element.content, 2)?;
            // RFC 5280 4.1.2.5.1: a two-digit year is in 1950 to 2049.
            (if year >= 50 { 1900 + year } else { 2000 + year }, rest)
        }
        der::GENERALIZED_TIME => digits(element.content, 4)?,
        _ => return Err(Malformed),
    };
    let (month, rest) = digits(rest, 2)?;
    let (day, rest) = digits(rest, 2)?;
    let (hour, rest) = digits(rest, 2)?;
    let (minute, rest) = digits(rest, 2)?;
    let (second, rest) = digits(rest, 2)?;
    let plausible = rest == b"Z"
        && (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !plausible {
        return Err(Malformed);
    }
    if year < 1970 {
        return Ok(from_seconds(0));
    }
    let days = days_before_year(year) + days_before_month(year, month) + (day - 1);
    Ok(from_seconds(((days * 24 + hour) * 60 + minute) * 60 + second))
}

/// A time that prints as `2026-11-20 17:01:47 UTC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadableTime(pub UnixTime);

impl fmt::Display for ReadableTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        if seconds > LAST_SECOND_OF_9999 {
            return f.write_str("after the year 9999");
        }
        let (mut days, in_day) = (seconds / 86_400, seconds % 86_400);
        // A year has at most 366 days, so the estimate is never too late and at most a few years
        // too early.
        let mut year = 1970 + days / 366;
        while days_before_year(year + 1) <= days {
            year += 1;
        }
        days -= days_before_year(year);
        let mut month = 1;
        while days >= days_in_month(year, month) {
            days -= days_in_month(year, month);
            month += 1;
        }
        let (day, hour, minute, second) = (days + 1, in_day / 3600, in_day / 60 % 60, in_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

fn from_seconds(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn digits(bytes: &[u8], count: usize) -> Result<(u64, &[u8]), Malformed> {
    let (number, rest) = bytes.split_at_checked(count).ok_or(Malformed)?;
    let value = number.iter().try_fold(0u64, |value, &digit| {
        digit.is_ascii_digit().then(|| value * 10 + u64::from(digit - b'0')).ok_or(Malformed)
    })?;
    Ok((value, rest))
}

/// Days from the start of 1970 to the start of `year`, which is 1970 or later.
fn days_before_year(year: u64) -> u64 {
    let leap_days_up_to = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leap_days_up_to(year - 1) - leap_days_up_to(1969)
}

fn days_before_month(year: u64, month: u64) -> u64 {
    (1..month).map(|month| days_in_month(year, month)).sum()
}

fn days_in_month(year: u64, month: u64) -> u64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The last moment that a GeneralizedTime can represent. RFC 5280 4.1.2.5
const LAST_SECOND_OF_9999: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(tag: u8, content: &[u8]) -> Result<u64, Malformed> {
        let element = Element { tag, content, whole: content };
        from_der(element).map(|time| time.as_secs())
    }

    /// RFC 5280 4.1.2.5, 4.1.2.5.1
    #[test]
    fn known_moments() {
        let known: [(u8, &[u8], u64); 7] = [
            (der::UTC_TIME, b"700101000000Z", 0),
            (der::UTC_TIME, b"491231235959Z", 2_524_607_999),
            (der::UTC_TIME, b"500101000000Z", 0),
            (der::GENERALIZED_TIME, b"20000229120000Z", 951_825_600),
            (der::GENERALIZED_TIME, b"20240301000000Z", 1_709_251_200),
            (der::GENERALIZED_TIME, b"21000301000000Z", 4_107_542_400),
            (der::GENERALIZED_TIME, b"99991231235959Z", LAST_SECOND_OF_9999),
        ];
        for (tag, text, seconds) in known {
            assert_eq!(parse(tag, text), Ok(seconds));
        }
    }

    #[test]
    fn malformed_times_are_refused() {
        let wrong: [(u8, &[u8]); 10] = [
            (der::UTC_TIME, b"7001010000Z"),
            (der::UTC_TIME, b"700101000000+0000"),
            (der::UTC_TIME, b"700101000000"),
            (der::UTC_TIME, b"701301000000Z"),
            (der::UTC_TIME, b"700100000000Z"),
            (der::UTC_TIME, b"230229000000Z"),
            (der::UTC_TIME, b"700101240000Z"),
            (der::GENERALIZED_TIME, b"21000229000000Z"),
            (der::GENERALIZED_TIME, b"20000101000000.5Z"),
            (der::INTEGER, b"700101000000Z"),
        ];
        for (tag, text) in wrong {
            assert_eq!(parse(tag, text), Err(Malformed));
        }
    }

    #[test]
    fn text_is_the_inverse_of_parsing() {
        // A prime number of seconds, so that every field of the text varies.
        for seconds in (0..LAST_SECOND_OF_9999).step_by(86_400 * 97 + 12_347) {
            let text = ReadableTime(from_seconds(seconds)).to_string();
            let mut compact: String = text.chars().filter(char::is_ascii_digit).collect();
            compact.push('Z');
            let again = parse(der::GENERALIZED_TIME, compact.as_bytes());
            assert_eq!(again, Ok(seconds), "{text}");
        }
        let beyond = ReadableTime(from_seconds(u64::MAX));
        assert_eq!(beyond.to_string(), "after the year 9999");
    }
}
