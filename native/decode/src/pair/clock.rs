//! Offset and drift between the clocks of two capture points, from the packets that both saw.
//! The minimum time from one point to the other has no queue in it, so the lower edge of the times shows the
//! clocks. With packets both ways, the offset is half the difference of the two minimum times, on the premise
//! that the path without queue takes equally long both ways; with one way it cannot be separated from the path. Drift
//! is the slope of the lower edge, of the way whose edge is the straighter: a standing queue bends it.

/// The recording is cut into so many parts, each with its minimum time.
const PARTS: usize = 32;
/// Fewer parts with packets do not make a line.
const FEWEST_PARTS: usize = 8;

/// What is known of the two clocks.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct ClockEstimate {
    /// Second clock minus first, where packets went both ways.
    pub(crate) offset_ns: Option<i64>,
    /// How much faster the second clock runs.
    pub(crate) drift_ppm: Option<f64>,
    /// Half the spread of the lower edge about the line, as a bound of the drift's error over the recording.
    pub(crate) residual_ns: Option<f64>,
}

/// The time between first and last packet that both points saw of one way, and their minimum difference of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "names carry units")]
pub(crate) struct WaySpan {
    pub(crate) first_ns: i64,
    pub(crate) last_ns: i64,
    pub(crate) least_ns: i64,
}

impl WaySpan {
    /// The span of two.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            first_ns: self.first_ns.min(other.first_ns),
            last_ns: self.last_ns.max(other.last_ns),
            least_ns: self.least_ns.min(other.least_ns),
        }
    }
}

/// The minimum of each part of a way, of packets that come one by one.
#[derive(Debug, Clone)]
pub(crate) struct LowerEdge {
    span: WaySpan,
    least: [Option<(i64, i64)>; PARTS],
}

struct Line {
    slope: f64,
    residual_ns: f64,
}

impl LowerEdge {
    pub(crate) fn new(span: WaySpan) -> Self {
        Self {
            span,
            least: [None; PARTS],
        }
    }

    /// Take a packet: its time at the first point, and the time from its first point to its second.
    pub(crate) fn add(&mut self, time_ns: i64, difference_ns: i64) {
        let length = self.span.last_ns.saturating_sub(self.span.first_ns).max(1);
        let place = time_ns.saturating_sub(self.span.first_ns);
        let part = i128::from(place) * PARTS as i128 / (i128::from(length) + 1);
        if let Some(part) = usize::try_from(part)
            .ok()
            .and_then(|part| self.least.get_mut(part))
        {
            if part.is_none_or(|least| difference_ns < least.1) {
                *part = Some((time_ns, difference_ns));
            }
        }
    }

    /// Line through the minimum of each part, by the median of the slopes of all pairs (Theil 1950), which a part
    /// with a queue all through does not move.
    fn line(&self) -> Option<Line> {
        let parts: Vec<_> = self.least.into_iter().flatten().collect();
        if parts.len() < FEWEST_PARTS {
            return None;
        }
        let mut slopes = Vec::new();
        for (place, one) in parts.iter().enumerate() {
            for other in parts.iter().skip(place + 1).filter(|other| other.0 != one.0) {
                slopes.push((other.1 - one.1) as f64 / (other.0 - one.0) as f64);
            }
        }
        let slope = median(&mut slopes)?;
        let mut rests: Vec<_> = parts
            .iter()
            .map(|(time_ns, difference_ns)| {
                *difference_ns as f64 - slope * (time_ns - self.span.first_ns) as f64
            })
            .collect();
        rests.sort_by(f64::total_cmp);
        let residual_ns = (rests.last()? - rests.first()?) / 2.0;
        Some(Line { slope, residual_ns })
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl ClockEstimate {
    /// From the lower edges of both ways, each of the times from its own first point to its second.
    pub(crate) fn new(towards: Option<&LowerEdge>, back: Option<&LowerEdge>) -> Self {
        let least = towards.map(|edge| edge.span.least_ns);
        // The way back is from the second clock to the first.
        let quickest_back = back.map(|edge| -edge.span.least_ns);
        let lines = [
            towards.and_then(LowerEdge::line),
            back.and_then(LowerEdge::line).map(|line| Line {
                slope: -line.slope,
                ..line
            }),
        ];
        let straighter = lines
            .into_iter()
            .flatten()
            .min_by(|one, other| one.residual_ns.total_cmp(&other.residual_ns));
        Self {
            offset_ns: least.zip(quickest_back).map(|(out, back)| midpoint(out, back)),
            drift_ppm: straighter.as_ref().map(|line| line.slope * 1e6),
            residual_ns: straighter.as_ref().map(|line| line.residual_ns),
        }
    }
}

/// Half of the sum, towards zero; the sum of two times may not fit.
fn midpoint(one: i64, other: i64) -> i64 {
    let half = (i128::from(one) + i128::from(other)) / 2;
    i64::try_from(half).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// The edge of packets given by their times at the first capture point and at the second.
    fn edge(packets: &[(i64, i64)], towards: bool) -> Option<LowerEdge> {
        let difference = |packet: &(i64, i64)| (packet.1 - packet.0) * if towards { 1 } else { -1 };
        let span = packets
            .iter()
            .map(|packet| WaySpan {
                first_ns: packet.0,
                last_ns: packet.0,
                least_ns: difference(packet),
            })
            .reduce(WaySpan::and)?;
        let mut edge = LowerEdge::new(span);
        for packet in packets {
            edge.add(packet.0, difference(packet));
        }
        Some(edge)
    }

    fn estimate(towards: &[(i64, i64)], back: &[(i64, i64)]) -> ClockEstimate {
        ClockEstimate::new(edge(towards, true).as_ref(), edge(back, false).as_ref())
    }

    #[test]
    fn offset_and_drift_are_found_under_a_queue() {
        let (offset_ns, drift) = (700 * MS, 50e-6);
        let second_clock = |time_ns: i64| time_ns + offset_ns + (time_ns as f64 * drift) as i64;
        let towards: Vec<_> = (0..3000)
            .map(|n| {
                let queue_ns = (n * 7919 % 97) * MS;
                let sent_ns = n * 10 * MS;
                (sent_ns, second_clock(sent_ns + 25 * MS + queue_ns))
            })
            .collect();
        let back: Vec<_> = (0..3000)
            .map(|n| {
                let received_ns = n * 10 * MS + 25 * MS;
                (received_ns, second_clock(received_ns - 25 * MS))
            })
            .collect();
        let both_ways = estimate(&towards, &back);
        assert!((both_ways.drift_ppm.unwrap() - 50.0).abs() < 0.5);
        // The clocks move apart by 1.5 ms over the 30 s, which bounds what one number can say.
        assert!((both_ways.offset_ns.unwrap() - offset_ns).abs() < 2 * MS);
        let one_way = estimate(&towards, &[]);
        assert_eq!(one_way.offset_ns, None);
        assert!((one_way.drift_ppm.unwrap() - 50.0).abs() < 5.0);
    }

    #[test]
    fn few_packets_say_nothing_about_drift() {
        let few = estimate(&[(0, 5), (10, 16)], &[(20, 17)]);
        assert_eq!((few.offset_ns, few.drift_ppm), (Some(1), None));
    }
}
