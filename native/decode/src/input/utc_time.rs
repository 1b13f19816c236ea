//! Times as RFC 3339 writes them.

/// Nanoseconds since the UTC epoch, `None` if `text` is not a time or outside what 64 bits hold.
#[must_use]
pub fn parse_rfc3339_ns(text: &str) -> Option<i64> {
    let number = |from: usize, until: usize| {
        let digits = text.get(from..until)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| digits.parse::<i64>().ok())?
    };
    let at = |place: usize, wanted: &[u8]| {
        text.as_bytes()
            .get(place)
            .is_some_and(|byte| wanted.contains(byte))
    };
    if !(at(4, b"-") && at(7, b"-") && at(10, b"Tt ") && at(13, b":") && at(16, b":")) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // 60 is a leap second.
    if !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (next_year, next_month) = if month == 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    let days = days_since_epoch(next_year, next_month, 1) - days_since_epoch(year, month, 1);
    if !(1..=days).contains(&day) {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut fraction_ns = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let kept = fraction.get(..digits.min(9)).filter(|kept| !kept.is_empty())?;
        fraction_ns = kept.parse::<i64>().ok()? * 10i64.pow(9 - u32::try_from(kept.len()).ok()?);
        rest = fraction.get(digits..)?;
    }
    let offset_minutes = match rest.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let part = |from: usize| rest.get(from..from + 2)?.parse::<u8>().ok().map(i64::from);
            let minutes = part(1)? * 60 + part(4)?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let seconds =
        days_since_epoch(year, month, day) * 86_400 + hour * 3_600 + (minute - offset_minutes) * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction_ns)
}

/// Days since 1970-01-01 of a day of the Gregorian calendar: years are counted from March, so that a leap day ends one.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let ns = |text| parse_rfc3339_ns(text);
        assert_eq!(ns("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(ns("2019-04-02T14:12:37.511Z"), Some(1_554_214_357_511_000_000));
        assert_eq!(
            ns("2020-02-29T23:59:59.123456789999Z"),
            Some(1_583_020_799_123_456_789)
        );
        assert_eq!(ns("2020-03-01T01:59:59+02:00"), ns("2020-02-29T23:59:59Z"));
        assert_eq!(ns("1969-12-31T23:59:59Z"), Some(-1_000_000_000));
        // Go's zero time lies outside what 64 bits of nanoseconds hold.
        assert_eq!(ns("0001-01-01T00:00:00Z"), None);
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2019",
            "2019-04-02",
            "2019-04-02T14:12:37",
            "2019-13-02T14:12:37Z",
            "2019-04-31T14:12:37Z",
            "2023-02-29T14:12:37Z",
            "1900-02-29T14:12:37Z",
            "2019-12-32T14:12:37Z",
            "2019-12-00T14:12:37Z",
            "2019-04-02T25:12:37Z",
            "2019-04-02T14:12:37.Z",
            "2019-04-02T14:12:37+0200",
            "2019-04-02T14:12:3éZ",
        ] {
            assert_eq!(parse_rfc3339_ns(text), None, "{text}");
        }
    }
}
