//! Offset and drift between the clocks of two capture points, from the packets that both saw.
//!
//! The least time from one point to the other has no queue in it, so the lower edge of the times shows the
//! clocks. With packets both ways, the offset is half the difference of the two least times, on the premise
//! that the path without queue takes equally long both ways; with one way it cannot be told from the path. Drift
//! is the slope of the lower edge, of the way whose edge is the straighter: a standing queue bends it.

use crate::capture_pair::PairedPacket;

/// The recording is cut into so many parts, each with its least time.
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

struct Edge {
    slope: f64,
    residual_ns: f64,
}

/// Line through the least of each part, by the median of the slopes of all pairs (Theil 1950), which a part
/// with a queue all through does not move.
fn edge(points: &[(i64, i64)]) -> Option<Edge> {
    let start = points.iter().map(|point| point.0).min()?;
    let end = points.iter().map(|point| point.0).max()?;
    let span = (end - start).max(1);
    let mut least: [Option<(i64, i64)>; PARTS] = [None; PARTS];
    for (time_ns, difference_ns) in points {
        let part = i128::from(time_ns - start) * PARTS as i128 / (i128::from(span) + 1);
        if let Some(part) = usize::try_from(part).ok().and_then(|part| least.get_mut(part))
            && part.is_none_or(|known| *difference_ns < known.1)
        {
            *part = Some((*time_ns, *difference_ns));
        }
    }
    let parts: Vec<_> = least.into_iter().flatten().collect();
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
        .map(|(time_ns, difference_ns)| *difference_ns as f64 - slope * (time_ns - start) as f64)
        .collect();
    rests.sort_by(f64::total_cmp);
    let residual_ns = (rests.last()? - rests.first()?) / 2.0;
    Some(Edge { slope, residual_ns })
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl ClockEstimate {
    pub(crate) fn new(towards: &[PairedPacket], back: &[PairedPacket]) -> Self {
        let differences = |packets: &[PairedPacket]| -> Vec<(i64, i64)> {
            packets
                .iter()
                .filter_map(|packet| Some((packet.before_ns?, packet.after_ns? - packet.before_ns?)))
                .collect()
        };
        let (towards, back) = (differences(towards), differences(back));
        let least = towards.iter().map(|point| point.1).min();
        // Packets back pass the second point first: their differences are negative, the greatest is the quickest.
        let quickest_back = back.iter().map(|point| point.1).max();
        let mirrored: Vec<_> = back
            .iter()
            .map(|(time, difference)| (*time, -difference))
            .collect();
        let edges = [
            edge(&towards),
            edge(&mirrored).map(|edge| Edge {
                slope: -edge.slope,
                ..edge
            }),
        ];
        let straighter = edges
            .into_iter()
            .flatten()
            .min_by(|one, other| one.residual_ns.total_cmp(&other.residual_ns));
        Self {
            offset_ns: least.zip(quickest_back).map(|(out, back)| out.midpoint(back)),
            drift_ppm: straighter.as_ref().map(|edge| edge.slope * 1e6),
            residual_ns: straighter.as_ref().map(|edge| edge.residual_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn packet(before_ns: i64, after_ns: i64) -> PairedPacket {
        PairedPacket {
            flow: 0,
            ip_id: 0,
            transport_word: None,
            wire_bytes: 100,
            index: 0,
            before_ns: Some(before_ns),
            after_ns: Some(after_ns),
        }
    }

    #[test]
    fn offset_and_drift_are_found_under_a_queue() {
        let (offset_ns, drift) = (700 * MS, 50e-6);
        let second_clock = |time_ns: i64| time_ns + offset_ns + (time_ns as f64 * drift) as i64;
        let towards: Vec<_> = (0..3000)
            .map(|n| {
                let queue_ns = (n * 7919 % 97) * MS;
                let sent_ns = n * 10 * MS;
                packet(sent_ns, second_clock(sent_ns + 25 * MS + queue_ns))
            })
            .collect();
        let back: Vec<_> = (0..3000)
            .map(|n| {
                let received_ns = n * 10 * MS + 25 * MS;
                packet(received_ns, second_clock(received_ns - 25 * MS))
            })
            .collect();
        let estimate = ClockEstimate::new(&towards, &back);
        assert!((estimate.drift_ppm.unwrap() - 50.0).abs() < 0.5);
        // The clocks move apart by 1.5 ms over the 30 s, which bounds what one number can say.
        assert!((estimate.offset_ns.unwrap() - offset_ns).abs() < 2 * MS);
        let one_way = ClockEstimate::new(&towards, &[]);
        assert_eq!(one_way.offset_ns, None);
        assert!((one_way.drift_ppm.unwrap() - 50.0).abs() < 5.0);
    }

    #[test]
    fn few_packets_say_nothing_about_drift() {
        let estimate = ClockEstimate::new(&[packet(0, 5), packet(10, 16)], &[packet(20, 17)]);
        assert_eq!((estimate.offset_ns, estimate.drift_ppm), (Some(1), None));
    }
}
