//! Decimal numbers as whole multiples of a small unit, without a detour over floating point.

/// `text` times ten to the power of `places`, what is below that cut off; `None` if it is no decimal number or too large.
pub(crate) fn scaled(text: &str, places: usize) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    let kept = fraction.bytes().chain(std::iter::repeat(b'0')).take(places);
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    for byte in whole.bytes().chain(kept) {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value = value.checked_mul(10)?.checked_add(i64::from(digit))?;
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_every_digit_of_their_unit() {
        assert_eq!(scaled("1795210205.152902863", 9), Some(1_795_210_205_152_902_863));
        assert_eq!(scaled("12", 3), Some(12_000));
        assert_eq!(scaled("-0.0015", 3), Some(-1));
        assert_eq!(scaled(".5", 1), Some(5));
        assert_eq!(scaled("3.", 0), Some(3));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            ".",
            "-",
            "1e9",
            "1.2.3",
            "0x10",
            "1,5",
            "9223372036854775808",
            " 1",
        ] {
            assert_eq!(scaled(text, 0), None, "{text}");
        }
    }
}
