//! Longest-prefix match from addresses to autonomous systems and countries.

use std::net::IpAddr;

use crate::pseudonym::address;

const NONE: u32 = u32::MAX;

/// Disjoint ranges in order: range `n` begins at `starts[n]` and ends where the next one begins.
#[derive(Default)]
struct Ranges<K> {
    starts: Vec<K>,
    values: Vec<u32>,
    /// For each value of the upper 16 bits, the range that holds its first address.
    by_upper_bits: Vec<u32>,
}

trait Bits: Copy + Ord {
    const WIDTH: u32;
    const ZERO: Self;
    fn upper_bits(self) -> usize;
    fn with_upper_bits(upper: u16) -> Self;
    fn after(self) -> Option<Self>;
    fn range(self, length: u32) -> (Self, Self);
}

macro_rules! bits {
    ($type:ty) => {
        impl Bits for $type {
            const WIDTH: u32 = <$type>::BITS;
            const ZERO: Self = 0;

            fn upper_bits(self) -> usize {
                #[allow(clippy::cast_possible_truncation, reason = "16 bits are left")]
                {
                    (self >> (<$type>::BITS - 16)) as usize
                }
            }

            fn with_upper_bits(upper: u16) -> Self {
                <$type>::from(upper) << (<$type>::BITS - 16)
            }

            fn after(self) -> Option<Self> {
                self.checked_add(1)
            }

            fn range(self, length: u32) -> (Self, Self) {
                let host = <$type>::MAX.checked_shr(length).unwrap_or(0);
                (self & !host, self | host)
            }
        }
    };
}

bits!(u32);
bits!(u128);

impl<K: Bits> Ranges<K> {
    /// Flatten nested prefixes, so that the most specific one decides; of equal ones, the last.
    fn new(mut prefixes: Vec<(K, u32, u32)>) -> Self {
        prefixes.sort_by_key(|(network, length, row)| (*network, *length, *row));
        let mut ranges = Self {
            starts: vec![K::ZERO],
            values: vec![NONE],
            by_upper_bits: Vec::new(),
        };
        // Prefixes that enclose the present place, each with its last address and its row.
        let mut enclosing: Vec<(K, u32)> = Vec::new();
        for (network, length, row) in prefixes {
            let (first, last) = network.range(length);
            ranges.close(&mut enclosing, Some(first));
            ranges.push(first, row);
            enclosing.push((last, row));
        }
        ranges.close(&mut enclosing, None);
        ranges.by_upper_bits = (0..=u16::MAX)
            .map(|upper| ranges.place(K::with_upper_bits(upper), 0, ranges.starts.len()))
            .map(|place| u32::try_from(place).unwrap_or(NONE))
            .collect();
        ranges
    }

    /// End the enclosing prefixes that end before `until`, giving back to those around them.
    fn close(&mut self, enclosing: &mut Vec<(K, u32)>, until: Option<K>) {
        while let Some((last, _)) = enclosing.last().copied() {
            if until.is_some_and(|first| last >= first) {
                break;
            }
            enclosing.pop();
            if let Some(next) = last.after() {
                self.push(next, enclosing.last().map_or(NONE, |(_, row)| *row));
            }
        }
    }

    fn push(&mut self, start: K, value: u32) {
        if self.starts.last() == Some(&start) {
            if let Some(last) = self.values.last_mut() {
                *last = value;
            }
        } else if self.values.last() != Some(&value) {
            self.starts.push(start);
            self.values.push(value);
        }
    }

    /// Place of the range that holds `key`, known to be at `from` or later and before `until`.
    fn place(&self, key: K, from: usize, until: usize) -> usize {
        let part = self.starts.get(from..until).unwrap_or_default();
        (from + part.partition_point(|start| *start <= key)).saturating_sub(1)
    }

    fn get(&self, key: K) -> u32 {
        let upper = key.upper_bits();
        let place_of = |upper: usize| self.by_upper_bits.get(upper).map(|place| *place as usize);
        let from = place_of(upper).unwrap_or(0);
        let until = place_of(upper + 1).map_or(self.starts.len(), |place| place + 1);
        self.values
            .get(self.place(key, from, until))
            .copied()
            .unwrap_or(NONE)
    }
}

/// What a table knows of the hosts below one prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixEntry {
    /// Number of the autonomous system.
    pub asn: Option<i64>,
    /// ISO 3166-1 alpha-2 code.
    pub country: Option<String>,
}

/// Prefixes with their autonomous system and country.
#[derive(Default)]
pub struct PrefixTable {
    ipv4: Ranges<u32>,
    ipv6: Ranges<u128>,
    entries: Vec<PrefixEntry>,
}

impl PrefixTable {
    /// Build the table; `prefixes` as `192.0.2.0/24`, or a single address.
    ///
    /// # Errors
    ///
    /// The place of the first text that is not a prefix.
    pub fn new<'p>(
        prefixes: impl Iterator<Item = &'p str>,
        asns: &[Option<i64>],
        countries: &[Option<String>],
    ) -> Result<Self, usize> {
        let mut table = Self::default();
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for (place, text) in prefixes.enumerate() {
            let row = u32::try_from(place).map_err(|_| place)?;
            let (text, length) = match text.split_once('/') {
                Some((text, length)) => (text, Some(length.parse::<u32>().map_err(|_| place)?)),
                None => (text, None),
            };
            match text.parse::<IpAddr>().map_err(|_| place)? {
                IpAddr::V4(network) if length.unwrap_or(32) <= u32::WIDTH => {
                    let (first, _) = u32::from(network).range(length.unwrap_or(32));
                    ipv4.push((first, length.unwrap_or(32), row));
                }
                IpAddr::V6(network) if length.unwrap_or(128) <= u128::WIDTH => {
                    let (first, _) = u128::from(network).range(length.unwrap_or(128));
                    ipv6.push((first, length.unwrap_or(128), row));
                }
                _ => return Err(place),
            }
            table.entries.push(PrefixEntry {
                asn: asns.get(place).copied().flatten(),
                country: countries.get(place).cloned().flatten(),
            });
        }
        table.ipv4 = Ranges::new(ipv4);
        table.ipv6 = Ranges::new(ipv6);
        Ok(table)
    }

    /// The entry of the longest prefix around an address.
    #[must_use]
    pub fn get(&self, address: IpAddr) -> Option<&PrefixEntry> {
        let row = match address {
            IpAddr::V4(address) => self.ipv4.get(u32::from(address)),
            IpAddr::V6(address) => self.ipv6.get(u128::from(address)),
        };
        self.entries.get(row as usize)
    }

    /// The entry of an address as text.
    #[must_use]
    pub fn get_text(&self, address: &str) -> Option<&PrefixEntry> {
        self.get(address::parse(address)?)
    }

    /// Number of prefixes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no prefix.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(prefixes: &[&str]) -> PrefixTable {
        let asns: Vec<_> = (0..prefixes.len()).map(|place| Some(place as i64)).collect();
        PrefixTable::new(prefixes.iter().copied(), &asns, &[]).unwrap()
    }

    fn asn(table: &PrefixTable, address: &str) -> Option<i64> {
        table.get_text(address)?.asn
    }

    #[test]
    fn the_most_specific_prefix_decides_and_gives_back() {
        let table = table(&[
            "10.0.0.0/8",
            "10.1.0.0/16",
            "10.1.2.0/24",
            "10.1.2.3/32",
            "0.0.0.0/1",
            "255.255.255.255",
        ]);
        let asns: Vec<_> = [
            "10.0.0.0",
            "10.1.0.1",
            "10.1.2.2",
            "10.1.2.3",
            "10.1.2.4",
            "10.1.3.0",
            "10.2.0.0",
            "11.0.0.0",
            "128.0.0.0",
            "255.255.255.254",
            "255.255.255.255",
        ]
        .iter()
        .map(|address| asn(&table, address))
        .collect();
        assert_eq!(
            asns,
            [
                Some(0),
                Some(1),
                Some(2),
                Some(3),
                Some(2),
                Some(1),
                Some(0),
                Some(4),
                None,
                None,
                Some(5)
            ]
        );
    }

    #[test]
    fn ipv6_and_mapped_addresses() {
        let table = table(&["2001:db8::/32", "2001:db8:1::/48", "::/0", "192.0.2.0/24"]);
        assert_eq!(asn(&table, "2001:db8:1::9"), Some(1));
        assert_eq!(asn(&table, "2001:db8:2::9"), Some(0));
        assert_eq!(asn(&table, "ffff::"), Some(2));
        assert_eq!(asn(&table, "::ffff:192.0.2.1"), Some(3));
    }

    #[test]
    fn the_same_as_trying_every_prefix() {
        let mut state = 7u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        // Few bits vary, so that prefixes nest often.
        let prefixes: Vec<(u32, u32)> = (0..500)
            .map(|_| ((next() & 0xff) << 20, 4 + next() % 29))
            .collect();
        let texts: Vec<String> = prefixes
            .iter()
            .map(|(network, length)| format!("{}/{length}", std::net::Ipv4Addr::from(*network)))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let table = table(&texts);
        for _ in 0..20_000 {
            let address = (next() & 0x1ff) << 19 | next() & 3;
            let slow = prefixes
                .iter()
                .enumerate()
                .filter(|(_, (network, length))| {
                    let (first, last) = network.range(*length);
                    (first..=last).contains(&address)
                })
                .max_by_key(|(place, (_, length))| (*length, *place))
                .map(|(place, _)| place as i64);
            assert_eq!(
                table.get(IpAddr::V4(address.into())).and_then(|entry| entry.asn),
                slow
            );
        }
    }

    #[test]
    fn what_is_no_prefix_is_told() {
        let broken = |text: &str| PrefixTable::new(["10.0.0.0/8", text].into_iter(), &[], &[]).err();
        for text in ["10.0.0.0/33", "x", "", "10.0.0.0/", "2001:db8::/129"] {
            assert_eq!(broken(text), Some(1), "{text}");
        }
    }
}
