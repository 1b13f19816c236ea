//! The same packet at two points: sightings wait for their counterpart, bounded in number and in patience.
//!
//! A packet is recognised by addresses, ports, protocol and IP identification, and by the sequence and
//! acknowledgement numbers of TCP, by sequence, timestamp and source of RTP, or by the first bytes of what it
//! carries. Packets with equal keys match in their order, so that a repeated identification costs nothing while
//! one of the two is not lost; reordering does not matter. Where most are equal and some are lost, nobody can tell
//! which: the packets of such a flow are refused.

use hashbrown::HashMap;

use crate::pair::sighting::{PacketKey, PairedPacket, Sighting};

/// Sightings that wait, about 140 bytes each.
const WAITING: usize = 1 << 19;
/// Sightings that pass before one that waits is given up.
const PATIENCE: u64 = 1 << 20;
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Waiting {
    key: PacketKey,
    sighting: Sighting,
    /// How many sightings there had been.
    since: u64,
    next_of_key: u32,
    older: u32,
    newer: u32,
}

/// Sightings of one key that wait, all from one point, in their order.
#[derive(Debug, Clone, Copy)]
struct Queue {
    first: u32,
    last: u32,
}

/// Bounds of the matcher.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) waiting: usize,
    pub(crate) patience: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            waiting: WAITING,
            patience: PATIENCE,
        }
    }
}

/// Sightings that wait for their counterpart.
#[derive(Debug)]
pub(crate) struct Matcher {
    bounds: Bounds,
    queues: HashMap<PacketKey, Queue>,
    places: Vec<Waiting>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    waiting: usize,
    sightings: u64,
}

impl Matcher {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            queues: HashMap::new(),
            places: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
            waiting: 0,
            sightings: 0,
        }
    }

    /// Take a sighting. A packet whose fate becomes known goes to `sink`: the one that it completes, and those
    /// whose waiting is over.
    pub(crate) fn sighted(
        &mut self,
        key: PacketKey,
        sighting: Sighting,
        sink: &mut impl FnMut(PairedPacket),
    ) {
        self.sightings += 1;
        let first = self.queues.get(&key).map(|queue| queue.first);
        match first.and_then(|place| Some((place, *self.places.get(place as usize)?))) {
            Some((place, waiting)) if waiting.sighting.point != sighting.point => {
                self.remove_first(place);
                sink(PairedPacket::matched(key, waiting.sighting, sighting));
            }
            _ => self.wait(key, sighting),
        }
        while let Some(oldest) = self.places.get(self.oldest as usize) {
            if !(self.waiting > self.bounds.waiting || self.sightings - oldest.since > self.bounds.patience) {
                break;
            }
            self.give_up_oldest(sink);
        }
    }

    /// Give up all that wait: there is nothing more to come.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(PairedPacket)) {
        while self.oldest != NONE {
            self.give_up_oldest(sink);
        }
    }

    fn wait(&mut self, key: PacketKey, sighting: Sighting) {
        let waiting = Waiting {
            key,
            sighting,
            since: self.sightings,
            next_of_key: NONE,
            older: self.newest,
            newer: NONE,
        };
        let place = if let Some(place) = self.free.pop() {
            if let Some(vacant) = self.places.get_mut(place as usize) {
                *vacant = waiting;
            }
            place
        } else {
            self.places.push(waiting);
            u32::try_from(self.places.len() - 1).unwrap_or(NONE)
        };
        if let Some(newest) = self.places.get_mut(self.newest as usize) {
            newest.newer = place;
        } else {
            self.oldest = place;
        }
        self.newest = place;
        self.waiting += 1;
        let last = self.queues.get_mut(&key).map(|queue| {
            let last = queue.last;
            queue.last = place;
            last
        });
        if let Some(last) = last {
            if let Some(last) = self.places.get_mut(last as usize) {
                last.next_of_key = place;
            }
        } else {
            self.queues.insert(
                key,
                Queue {
                    first: place,
                    last: place,
                },
            );
        }
    }

    /// The oldest of all is the first of its key.
    fn give_up_oldest(&mut self, sink: &mut impl FnMut(PairedPacket)) {
        let place = self.oldest;
        if let Some(waiting) = self.places.get(place as usize).copied() {
            self.remove_first(place);
            sink(PairedPacket::unmatched(waiting.key, waiting.sighting));
        } else {
            self.oldest = NONE;
        }
    }

    /// Take out a place that is the first of its key.
    fn remove_first(&mut self, place: u32) {
        let Some(gone) = self.places.get(place as usize).copied() else {
            return;
        };
        if gone.next_of_key == NONE {
            self.queues.remove(&gone.key);
        } else if let Some(queue) = self.queues.get_mut(&gone.key) {
            queue.first = gone.next_of_key;
        }
        match self.places.get_mut(gone.older as usize) {
            Some(older) => older.newer = gone.newer,
            None => self.oldest = gone.newer,
        }
        match self.places.get_mut(gone.newer as usize) {
            Some(newer) => newer.older = gone.older,
            None => self.newest = gone.older,
        }
        self.free.push(place);
        self.waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::sighting::Point;

    const MS: i64 = 1_000_000;

    fn key(number: u32) -> PacketKey {
        PacketKey {
            flow: 0,
            ip_id: number,
            words: (0, 0, 0),
        }
    }

    fn sighting(point: Point, index: i64, time_ns: i64) -> Sighting {
        Sighting {
            point,
            index,
            time_ns,
            wire_bytes: 125,
            hop_limit: 64,
            transport_word: None,
            segment_bytes: None,
        }
    }

    fn run(bounds: Bounds, sightings: &[(u32, Sighting)]) -> Vec<PairedPacket> {
        let mut matcher = Matcher::new(bounds);
        let mut packets = Vec::new();
        for (number, sighting) in sightings {
            matcher.sighted(key(*number), *sighting, &mut |packet| packets.push(packet));
        }
        matcher.finish(&mut |packet| packets.push(packet));
        assert!(matcher.queues.is_empty());
        assert_eq!((matcher.waiting, matcher.oldest, matcher.newest), (0, NONE, NONE));
        assert_eq!(matcher.free.len(), matcher.places.len());
        packets
    }

    #[test]
    fn equal_keys_match_in_their_order_and_a_lost_one_stays() {
        let mut sightings: Vec<_> = (0..3).map(|n| (7, sighting(Point::Before, n, n * MS))).collect();
        sightings.extend((0..2).map(|n| (7, sighting(Point::After, n, (10 + n) * MS))));
        let delays: Vec<_> = run(Bounds::default(), &sightings)
            .iter()
            .map(|packet| packet.after_ns.map(|after| after - packet.before_ns.unwrap()))
            .collect();
        assert_eq!(delays, [Some(10 * MS), Some(10 * MS), None]);
    }

    #[test]
    fn the_oldest_is_given_up_when_too_many_wait_or_for_too_long() {
        let waits: Vec<_> = (0..5)
            .map(|n| (n, sighting(Point::Before, i64::from(n), 0)))
            .collect();
        for bounds in [
            Bounds {
                waiting: 2,
                patience: 1000,
            },
            Bounds {
                waiting: 1000,
                patience: 1,
            },
        ] {
            let mut sightings = waits.clone();
            sightings.push((0, sighting(Point::After, 0, 1)));
            sightings.push((4, sighting(Point::After, 1, 1)));
            let packets = run(bounds, &sightings);
            let matched = packets
                .iter()
                .filter(|packet| packet.before_ns.and(packet.after_ns).is_some());
            // The first had been given up when its counterpart came: neither is matched.
            assert_eq!(matched.map(|packet| packet.ip_id).collect::<Vec<_>>(), [4]);
            assert_eq!(packets.len(), 6);
        }
    }

    /// Sent packets with few identifications, some lost, some twice, the rest reordered within a bound: every
    /// sighting ends in exactly one packet, and what matches has one key and one of each point.
    #[test]
    fn reordering_duplicates_and_used_identifications_lose_no_sighting() {
        let mut state = 3u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..300 {
            let identifications = [1, 3, 50, 100_000][round % 4];
            let mut timeline = Vec::new();
            let mut counts = (0i64, 0i64);
            let mut sent = Vec::new();
            for n in 0..200u64 {
                let number = u32::try_from(n % identifications).unwrap();
                let at = n * 10;
                sent.push((at, number));
                timeline.push((at, number, Point::Before));
                if random(10) > 0 {
                    let copies = if random(20) == 0 { 2 } else { 1 };
                    for _ in 0..copies {
                        timeline.push((at + 50 + random(40), number, Point::After));
                    }
                }
            }
            timeline.sort_by_key(|event| (event.0, event.2 == Point::After));
            let sightings: Vec<_> = timeline
                .iter()
                .map(|(at, number, point)| {
                    let count = match point {
                        Point::Before => &mut counts.0,
                        Point::After => &mut counts.1,
                    };
                    *count += 1;
                    (*number, sighting(*point, *count - 1, i64::try_from(*at).unwrap()))
                })
                .collect();
            let packets = run(Bounds::default(), &sightings);
            let seen =
                |select: fn(&PairedPacket) -> Option<i64>| packets.iter().filter_map(select).count() as i64;
            assert_eq!(seen(|packet| packet.before_ns), counts.0);
            assert_eq!(seen(|packet| packet.after_ns), counts.1);
            let mut indices: Vec<_> = packets
                .iter()
                .filter(|packet| packet.before_ns.is_some())
                .map(|packet| packet.index)
                .collect();
            indices.sort_unstable();
            assert_eq!(indices, (0..counts.0).collect::<Vec<_>>());
            if identifications > 200 {
                // Every identification is used once: a packet is delivered exactly when it was seen behind.
                let delivered = packets
                    .iter()
                    .filter(|packet| packet.before_ns.and(packet.after_ns).is_some());
                let behind: std::collections::HashSet<_> = timeline
                    .iter()
                    .filter(|event| event.2 == Point::After)
                    .map(|event| event.1)
                    .collect();
                assert_eq!(delivered.count(), behind.len());
                for packet in packets
                    .iter()
                    .filter(|packet| packet.before_ns.and(packet.after_ns).is_some())
                {
                    let delay = packet.after_ns.unwrap() - packet.before_ns.unwrap();
                    assert!((50..90).contains(&delay));
                }
            }
        }
    }
}
