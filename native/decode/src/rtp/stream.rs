//! RTP streams among UDP packets.
//!
//! Nothing announces RTP in a capture. A packet may be RTP if version, payload type and lengths fit
//! (RTCP is recognised by its packet types, RFC 5761); a synchronisation source is believed after five
//! packets of one payload type whose sequence numbers follow on (the probation of RFC 3550 A.1, longer because
//! here any UDP packet may come). The packets of the probation count.

use crate::input::bytes::{be_u16, be_u32};
use crate::output::decoded::Decoded;
use crate::rtp::carrier::Carrier;
use crate::rtp::clock::{CLOCK_RATES_HZ, ClockEstimator, static_rate_hz};
use crate::rtp::interval::{RtpInterval, RtpIntervals};
use crate::rtp::sequence::{Arrival, SequenceTracker};
use crate::twos_complement::TwosComplement;

/// What is found inside of UDP.
pub(crate) const MEDIA: &[Decoded] = &[Decoded {
    kind: "media",
    name: "rtp",
    meaning: "streams recognised by shape or declared in a run's manifest: loss, reordering, jitter (RFC 3550)",
}];

const FIXED_HEADER_BYTES: usize = 12;
const PROBATION_PACKETS: usize = 5;
/// On probation a step may skip a few numbers, because packets lost at a full queue are lost in rows.
const PROBATION_STEP: u16 = 16;
/// Packets held for one source on probation, duplicates included.
const PROBATION_HELD: usize = 16;
/// Sources on probation in one direction; the one heard of least recently gives way.
const CANDIDATES: usize = 8;
/// Streams of one direction of one flow; more are not media.
const STREAMS: usize = 256;
/// A source with more payload types than a call negotiates is not RTP.
const PAYLOAD_TYPES: u32 = 8;
/// Where timestamps and times of arrival step apart by more than this, the sender began its timestamps again: no queue
/// holds one packet back for so long and not the one before.
const RESTART_S: f64 = 5.0;
/// Frames whose packets may interleave, by reordering or retransmission.
const RECENT_FRAMES: usize = 64;

/// The fields of one RTP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RtpPacket {
    pub(crate) ssrc: u32,
    pub(crate) payload_type: u8,
    pub(crate) sequence: u16,
    pub(crate) timestamp: u32,
    pub(crate) time_ns: i64,
    pub(crate) payload_bytes: u32,
    /// What it was found in.
    pub(crate) carrier: Carrier,
}

impl RtpPacket {
    /// Read a UDP payload, of which `captured` is there, as RTP if it can be.
    pub(crate) fn parse(captured: &[u8], payload_bytes: u32, time_ns: i64) -> Option<Self> {
        let first = *captured.first()?;
        let second = *captured.get(1)?;
        if first >> 6 != 2 || (192..=223).contains(&second) {
            return None;
        }
        let mut header_bytes = FIXED_HEADER_BYTES + 4 * usize::from(first & 0x0f);
        if first & 0x10 != 0 {
            // A snapped capture may end before the length of the extension, which then goes unchecked.
            header_bytes += 4 + be_u16(captured, header_bytes + 2).map_or(0, |words| 4 * usize::from(words));
        }
        if header_bytes > payload_bytes as usize {
            return None;
        }
        Self::fields(captured, payload_bytes, time_ns)
    }

    /// Read the fields at their place in RTP, whether or not the payload looks like it.
    pub(crate) fn fields(captured: &[u8], payload_bytes: u32, time_ns: i64) -> Option<Self> {
        Some(Self {
            ssrc: be_u32(captured, 8)?,
            payload_type: *captured.get(1)? & 0x7f,
            sequence: be_u16(captured, 2)?,
            timestamp: be_u32(captured, 4)?,
            time_ns,
            payload_bytes,
            carrier: Carrier::default(),
        })
    }
}

/// Interarrival jitter for every clock rate at once, because the rate is known only at the end.
#[derive(Debug, Clone, Default)]
struct Jitter {
    previous: Option<(i64, u32)>,
    differences: u64,
    /// Of the differences, those at which the timestamps began again, by clock rate.
    restarts: [u64; CLOCK_RATES_HZ.len()],
    units: [f64; CLOCK_RATES_HZ.len()],
    sums: [f64; CLOCK_RATES_HZ.len()],
    largest: [f64; CLOCK_RATES_HZ.len()],
}

impl Jitter {
    /// Forget the packets so far, but not what they have given.
    fn begin_again(&mut self) {
        self.previous = None;
        self.units = <[f64; CLOCK_RATES_HZ.len()]>::default();
    }

    /// Add a packet; whether its timestamp begins again, whatever the clock rate is.
    fn add(&mut self, time_ns: i64, timestamp: u32) -> bool {
        let Some((previous_ns, previous_timestamp)) = self.previous.replace((time_ns, timestamp)) else {
            return false;
        };
        let apart_s = (time_ns - previous_ns) as f64 / 1e9;
        let apart_units = f64::from(timestamp.wrapping_sub(previous_timestamp).signed());
        let differences = CLOCK_RATES_HZ.map(|rate| (apart_s * f64::from(rate) - apart_units).abs());
        let restarts = || {
            let differences = differences.iter().zip(CLOCK_RATES_HZ);
            differences.map(|(difference, rate)| *difference > RESTART_S * f64::from(rate))
        };
        self.differences += 1;
        // Without a way out of the loop it is a few wide comparisons.
        if restarts().fold(false, |some, one| some | one) {
            self.restart(&differences);
            return restarts().all(|one| one);
        }
        let states = self.units.iter_mut().zip(&mut self.sums).zip(&mut self.largest);
        for (((jitter, sum), largest), difference) in states.zip(differences) {
            *jitter += (difference - *jitter) / 16.0;
            *sum += *jitter;
            *largest = largest.max(*jitter);
        }
        false
    }

    /// Add a packet whose timestamp begins again at some of the clock rates, at which the jitter does so too.
    fn restart(&mut self, differences: &[f64; CLOCK_RATES_HZ.len()]) {
        let states = self.units.iter_mut().zip(&mut self.sums).zip(&mut self.largest);
        let states = states.zip(&mut self.restarts);
        for (((((jitter, sum), largest), restarts), difference), rate) in
            states.zip(differences).zip(CLOCK_RATES_HZ)
        {
            if *difference > RESTART_S * f64::from(rate) {
                *jitter = 0.0;
                *restarts += 1;
            } else {
                *jitter += (difference - *jitter) / 16.0;
                *sum += *jitter;
                *largest = largest.max(*jitter);
            }
        }
    }

    /// At the end, mean and largest, in milliseconds at the given rate.
    fn at_rate_ms(&self, rate_hz: i32) -> Option<(f64, f64, f64)> {
        let place = CLOCK_RATES_HZ.iter().position(|rate| *rate == rate_hz)?;
        let differences = self.differences - *self.restarts.get(place)?;
        if differences == 0 {
            return None;
        }
        let milliseconds = |units: f64| units * 1e3 / f64::from(rate_hz);
        Some((
            milliseconds(*self.units.get(place)?),
            milliseconds(*self.sums.get(place)? / differences as f64),
            milliseconds(*self.largest.get(place)?),
        ))
    }
}

/// A clock rate and how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) rate_hz: i32,
    pub(crate) basis: &'static str,
}

/// One stream that was believed.
#[derive(Debug)]
pub(crate) struct RtpStream {
    pub(crate) ssrc: u32,
    pub(crate) payload_type: u8,
    pub(crate) first_ns: i64,
    pub(crate) last_ns: i64,
    pub(crate) packets: i64,
    pub(crate) payload_bytes: i64,
    pub(crate) reordered_packets: i64,
    pub(crate) duplicate_packets: i64,
    pub(crate) frames: i64,
    pub(crate) sequence: SequenceTracker,
    /// It is known from elsewhere that there is such a stream.
    pub(crate) declared: bool,
    /// Of the first packet.
    pub(crate) carrier: Carrier,
    pub(crate) intervals: RtpIntervals,
    payload_types: u128,
    jitter: Jitter,
    clock: ClockEstimator,
    /// A ring; the newest is at the number of frames less one.
    recent_timestamps: [u32; RECENT_FRAMES],
}

impl RtpStream {
    fn new(first: &RtpPacket, declared: bool) -> Self {
        let mut stream = Self {
            ssrc: first.ssrc,
            payload_type: first.payload_type,
            first_ns: first.time_ns,
            last_ns: first.time_ns,
            packets: 0,
            payload_bytes: 0,
            reordered_packets: 0,
            duplicate_packets: 0,
            frames: 0,
            sequence: SequenceTracker::new(first.sequence),
            declared,
            carrier: first.carrier,
            intervals: RtpIntervals::default(),
            payload_types: 0,
            jitter: Jitter::default(),
            clock: ClockEstimator::default(),
            recent_timestamps: [0; RECENT_FRAMES],
        };
        stream.intervals.add(
            first.time_ns,
            first.payload_bytes,
            &stream.sequence,
            &stream.jitter.units,
        );
        stream.count(first, Arrival::New);
        stream
    }

    fn packet(&mut self, packet: &RtpPacket) {
        self.intervals.add(
            packet.time_ns,
            packet.payload_bytes,
            &self.sequence,
            &self.jitter.units,
        );
        let arrival = self.sequence.receive(packet.sequence);
        self.count(packet, arrival);
    }

    fn count(&mut self, packet: &RtpPacket, arrival: Arrival) {
        self.first_ns = self.first_ns.min(packet.time_ns);
        self.last_ns = self.last_ns.max(packet.time_ns);
        self.packets += 1;
        self.payload_bytes += i64::from(packet.payload_bytes);
        self.payload_types |= 1 << packet.payload_type;
        match arrival {
            Arrival::Duplicate => {
                self.duplicate_packets += 1;
                return;
            }
            Arrival::Stray => return,
            Arrival::Late => self.reordered_packets += 1,
            // Who begins other numbers begins other timestamps too, however near they are (RFC 3550, 5.1).
            Arrival::Restarted => self.jitter.begin_again(),
            Arrival::New => {}
        }
        let begins_again = self.jitter.add(packet.time_ns, packet.timestamp);
        self.clock.add(
            packet.time_ns,
            packet.timestamp,
            begins_again || arrival == Arrival::Restarted,
        );
        self.frame(packet.timestamp);
    }

    fn frame(&mut self, timestamp: u32) {
        let frames = usize::try_from(self.frames).unwrap_or(usize::MAX);
        if frames > 0 && self.recent_timestamps.get((frames - 1) % RECENT_FRAMES) == Some(&timestamp) {
            return;
        }
        let timestamps = self.recent_timestamps.iter().take(frames.min(RECENT_FRAMES));
        // Without a way out of the loop it is a few wide comparisons.
        if timestamps.fold(0, |matches, recent| matches | u32::from(*recent == timestamp)) > 0 {
            return;
        }
        if let Some(oldest) = self.recent_timestamps.get_mut(frames % RECENT_FRAMES) {
            *oldest = timestamp;
        }
        self.frames += 1;
        self.intervals.frame();
    }

    pub(crate) fn is_plausible(&self) -> bool {
        self.declared || self.payload_types.count_ones() <= PAYLOAD_TYPES
    }

    /// The clock: assigned to the payload type, or estimated, or not known.
    pub(crate) fn clock(&self) -> Option<Clock> {
        if let Some(rate_hz) = static_rate_hz(self.payload_type) {
            return Some(Clock {
                rate_hz,
                basis: "static",
            });
        }
        self.clock.rate_hz().map(|rate_hz| Clock {
            rate_hz,
            basis: "estimated",
        })
    }

    /// Time from first to last packet in seconds; `None` where no time passed.
    fn duration_s(&self) -> Option<f64> {
        let duration_ns = self.last_ns.saturating_sub(self.first_ns);
        (duration_ns > 0).then_some(duration_ns as f64 / 1e9)
    }

    /// Frames after the first over the time from first to last packet.
    pub(crate) fn frame_rate_fps(&self) -> Option<f64> {
        Some((self.frames - 1) as f64 / self.duration_s()?)
    }

    /// UDP payload over the time from first to last packet, in bit/s.
    pub(crate) fn rate_bps(&self) -> Option<f64> {
        Some(self.payload_bytes as f64 * 8.0 / self.duration_s()?)
    }

    /// Jitter at the end, its mean and its largest value, in milliseconds.
    pub(crate) fn jitter_ms(&self) -> Option<(f64, f64, f64)> {
        self.jitter.at_rate_ms(self.clock()?.rate_hz)
    }
}

#[derive(Debug)]
struct Candidate {
    ssrc: u32,
    in_sequence: usize,
    highest: u16,
    held: Vec<RtpPacket>,
}

impl Candidate {
    fn new(packet: &RtpPacket) -> Self {
        Self {
            ssrc: packet.ssrc,
            in_sequence: 1,
            highest: packet.sequence,
            held: vec![*packet],
        }
    }

    /// Take one more packet; whether the source is now believed.
    fn packet(&mut self, packet: &RtpPacket) -> bool {
        let step = packet.sequence.wrapping_sub(self.highest);
        let same_type = self
            .held
            .first()
            .is_some_and(|first| first.payload_type == packet.payload_type);
        if !same_type || step > PROBATION_STEP || self.held.len() == PROBATION_HELD {
            *self = Self::new(packet);
            return false;
        }
        self.held.push(*packet);
        if step > 0 {
            self.highest = packet.sequence;
            self.in_sequence += 1;
        }
        self.in_sequence == PROBATION_PACKETS
    }
}

/// The RTP streams of one direction of one flow.
#[derive(Debug, Default)]
pub(crate) struct RtpDirection {
    streams: Vec<RtpStream>,
    /// Least recently heard of first.
    candidates: Vec<Candidate>,
    /// Of all streams together.
    intervals_kept: usize,
}

impl RtpDirection {
    /// Memory that is kept of streams, in bytes; of those on probation, as much as they may take.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.streams.capacity() * size_of::<RtpStream>()
            + self.intervals_kept * size_of::<RtpInterval>()
            + self.candidates.len() * (size_of::<Candidate>() + PROBATION_HELD * size_of::<RtpPacket>())
    }

    /// Take a packet of a stream that was believed; whether it was.
    fn take_known(&mut self, packet: &RtpPacket) -> bool {
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.ssrc == packet.ssrc) else {
            return false;
        };
        let before = stream.intervals.len();
        stream.packet(packet);
        self.intervals_kept = (self.intervals_kept + stream.intervals.len()).saturating_sub(before);
        true
    }

    fn believe(&mut self, stream: RtpStream) {
        self.intervals_kept += stream.intervals.len();
        self.streams.push(stream);
    }

    /// Take a packet that is known to be RTP.
    pub(crate) fn declared_packet(&mut self, packet: &RtpPacket) {
        if !self.take_known(packet) && self.streams.len() < STREAMS {
            self.believe(RtpStream::new(packet, true));
        }
    }

    /// Take a packet that may be RTP.
    pub(crate) fn packet(&mut self, packet: &RtpPacket) {
        if self.take_known(packet) {
            return;
        }
        let candidate_place = self
            .candidates
            .iter()
            .position(|candidate| candidate.ssrc == packet.ssrc);
        let Some(place) = candidate_place else {
            if self.candidates.len() == CANDIDATES {
                self.candidates.remove(0);
            }
            self.candidates.push(Candidate::new(packet));
            return;
        };
        let mut candidate = self.candidates.remove(place);
        if !candidate.packet(packet) {
            self.candidates.push(candidate);
            return;
        }
        if let [first, rest @ ..] = candidate.held.as_slice() {
            if self.streams.len() < STREAMS {
                let mut stream = RtpStream::new(first, false);
                for held in rest {
                    stream.packet(held);
                }
                self.believe(stream);
            }
        }
    }

    /// The streams, by synchronisation source.
    pub(crate) fn into_streams(self) -> Vec<RtpStream> {
        let mut streams = self.streams;
        streams.retain(RtpStream::is_plausible);
        for stream in &mut streams {
            stream.intervals.close(&stream.sequence, &stream.jitter.units);
        }
        streams.sort_by_key(|stream| stream.ssrc);
        streams
    }
}

#[cfg(test)]
mod tests;
