//! Packets and bytes of one direction of one flow per interval.

/// One interval in which the direction sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) start_ns: i64,
    pub(crate) packets: i64,
    pub(crate) bytes: i64,
}

/// The intervals of one direction, in order of time.
#[derive(Debug, Default)]
pub(crate) struct IntervalSeries(Vec<Interval>);

impl IntervalSeries {
    pub(crate) fn add(&mut self, time_ns: i64, bytes: i64, interval_ns: i64) {
        let start_ns = time_ns.div_euclid(interval_ns) * interval_ns;
        match self.0.last_mut() {
            Some(last) if last.start_ns == start_ns => {
                last.packets += 1;
                last.bytes += bytes;
                return;
            }
            // Captures from several queues of a network card go back in time now and then.
            Some(last) if last.start_ns > start_ns => {}
            _ => {
                self.0.push(Interval {
                    start_ns,
                    packets: 1,
                    bytes,
                });
                return;
            }
        }
        match self
            .0
            .binary_search_by_key(&start_ns, |interval| interval.start_ns)
        {
            Ok(place) => {
                if let Some(interval) = self.0.get_mut(place) {
                    interval.packets += 1;
                    interval.bytes += bytes;
                }
            }
            Err(place) => self.0.insert(
                place,
                Interval {
                    start_ns,
                    packets: 1,
                    bytes,
                },
            ),
        }
    }

    pub(crate) fn as_slice(&self) -> &[Interval] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_from_the_past_joins_its_interval() {
        let mut series = IntervalSeries::default();
        for time_ns in [5, 105, 210, 199, 305, 6] {
            series.add(time_ns, 10, 100);
        }
        let found: Vec<_> = series
            .as_slice()
            .iter()
            .map(|i| (i.start_ns, i.packets, i.bytes))
            .collect();
        assert_eq!(found, [(0, 2, 20), (100, 2, 20), (200, 1, 10), (300, 1, 10)]);
    }
}
