//! Arrow batches of the tables `call_flow`, `rtcp_report` and `rtp_interval`.

use arrow_array::RecordBatch;

use crate::call::report::Reported;
use crate::call::state::CallState;
use crate::output::columns::Columns;
use crate::output::fault::Fault;
use crate::output::units::microseconds;
use crate::packet::direction::Direction;
use crate::rtp::carrier::Encapsulation;
use crate::rtp::interval::{Change, RtpInterval};
use crate::rtp::stream::RtpStream;

/// What the RTP streams of a flow show of its call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MediaFound {
    first_ns: Option<i64>,
    relayed: bool,
    direct: bool,
    zoom: bool,
}

impl MediaFound {
    pub(crate) fn add(&mut self, stream: &RtpStream) {
        self.first_ns = Some(
            self.first_ns
                .map_or(stream.first_ns, |first_ns| first_ns.min(stream.first_ns)),
        );
        match stream.carrier.encapsulation {
            None => self.direct = true,
            Some(Encapsulation::ZoomPeer) => (self.direct, self.zoom) = (true, true),
            Some(Encapsulation::ZoomServer) => (self.relayed, self.zoom) = (true, true),
            Some(Encapsulation::TurnChannel | Encapsulation::TurnIndication) => self.relayed = true,
        }
    }
}

/// A row of `call_flow`.
#[derive(Debug)]
pub(crate) struct CallRow {
    flow_id: i64,
    call: Box<CallState>,
    media: MediaFound,
}

impl CallRow {
    /// The row of a flow, if what it has of a call is more than a payload that happened to look like it.
    pub(crate) fn new(flow_id: i64, mut call: Box<CallState>, media: MediaFound) -> Option<Self> {
        let has_cookie = call.stun.messages() > call.stun.classic;
        if !(has_cookie || media.relayed || call.relayed_messages > 0) {
            call.channel_packets = 0;
        }
        if !(media.zoom || call.reports.packets > 0) {
            call.zoom_server_packets = 0;
            call.zoom_peer_packets = 0;
            call.zoom_repair_packets = 0;
        }
        let reports = &call.reports;
        let evidence = call.stun.messages()
            + call.dtls.packets
            + reports.packets
            + reports.cut_packets
            + reports.secure_packets()
            + call.channel_packets
            + call.zoom_server_packets
            + call.zoom_peer_packets;
        (evidence > 0).then_some(Self { flow_id, call, media })
    }

    /// Whether media passes a relay in this flow.
    fn media_path(&self) -> Option<&'static str> {
        let call = &self.call;
        let relayed = self.media.relayed || call.channel_packets + call.indication_packets > 0;
        let direct = self.media.direct || (!relayed && call.dtls.packets > 0);
        match (relayed, direct) {
            (true, true) => Some("both"),
            (true, false) => Some("relayed"),
            (false, true) => Some("direct"),
            (false, false) => None,
        }
    }

    /// Time from the first STUN request to the first packet of media.
    fn media_set_up_us(&self) -> Option<i64> {
        let passed_ns = self
            .media
            .first_ns?
            .checked_sub(self.call.stun.first_request_ns()?)?;
        (passed_ns >= 0).then_some(microseconds(passed_ns))
    }
}

/// Rows of `call_flow`.
pub(crate) fn calls(rows: &[CallRow]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("flow_id", |row| row.flow_id);
    columns.optional_string("media_path", CallRow::media_path);
    columns.int64("stun_requests", |row| row.call.stun.requests);
    columns.int64("stun_successes", |row| row.call.stun.successes);
    columns.int64("stun_errors", |row| row.call.stun.errors);
    columns.int64("stun_indications", |row| row.call.stun.indications);
    columns.int64("classic_stun_messages", |row| row.call.stun.classic);
    columns.optional_int64("stun_setup_us", |row| row.call.stun.set_up_ns().map(microseconds));
    columns.int64("stun_rtt_samples", |row| row.call.stun.round_trips);
    columns.optional_int64("stun_rtt_min_us", |row| {
        row.call.stun.round_trip_us().map(|rtt| rtt.0)
    });
    columns.optional_float64("stun_rtt_avg_us", |row| {
        row.call.stun.round_trip_us().map(|rtt| rtt.1)
    });
    columns.optional_int64("media_setup_us", CallRow::media_set_up_us);
    columns.int64("turn_allocations", |row| row.call.stun.allocations);
    columns.int64("turn_channel_packets", |row| row.call.channel_packets);
    columns.int64("turn_indication_packets", |row| row.call.indication_packets);
    columns.int64("zoom_server_packets", |row| row.call.zoom_server_packets);
    columns.int64("zoom_peer_packets", |row| row.call.zoom_peer_packets);
    columns.int64("zoom_repair_packets", |row| row.call.zoom_repair_packets);
    columns.int64("dtls_packets", |row| row.call.dtls.packets);
    columns.optional_string("dtls_outcome", |row| row.call.dtls.outcome());
    columns.optional_int16("dtls_alert", |row| row.call.dtls.fatal_alert.map(i16::from));
    columns.optional_int64("dtls_handshake_us", |row| {
        row.call.dtls.handshake_ns().map(microseconds)
    });
    columns.int64("rtcp_packets", |row| row.call.reports.packets);
    columns.int64("rtcp_cut_packets", |row| row.call.reports.cut_packets);
    columns.int64("srtcp_packets", |row| row.call.reports.secure_packets());
    columns.int64("rtcp_unplaced_reports", |row| row.call.reports.unplaced);
    columns.int64("rtcp_refused_reports", |row| row.call.reports.refused);
    columns.into_batch()
}

/// A row of `rtcp_report`.
#[derive(Debug)]
pub(crate) struct ReportRow {
    pub(crate) flow_id: i64,
    pub(crate) reported: Reported,
}

impl ReportRow {
    /// The rows of a call in the order of their key.
    pub(crate) fn of(flow_id: i64, call: &CallState) -> impl Iterator<Item = Self> {
        let mut pairs = call.reports.pairs.clone();
        pairs.sort_by_key(|pair| (pair.direction, pair.reporter, pair.source));
        pairs.into_iter().map(move |reported| Self { flow_id, reported })
    }
}

/// Rows of `rtcp_report`.
pub(crate) fn reports(rows: &[ReportRow]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("flow_id", |row| row.flow_id);
    columns.string("direction", |row| row.reported.direction.name());
    columns.int64("reporter_ssrc", |row| i64::from(row.reported.reporter));
    columns.int64("ssrc", |row| i64::from(row.reported.source));
    columns.int64("first_report_ns", |row| row.reported.first_ns);
    columns.int64("last_report_ns", |row| row.reported.last_ns);
    columns.int64("reports", |row| row.reported.reports);
    columns.float64("loss_mean_ratio", |row| row.reported.fraction_lost().0);
    columns.float64("loss_max_ratio", |row| row.reported.fraction_lost().1);
    columns.int64("lost_packets", |row| i64::from(row.reported.lost_packets));
    columns.float64("jitter_mean_units", |row| row.reported.jitter_mean_units());
    columns.int64("jitter_max_units", |row| i64::from(row.reported.jitter_max_units));
    columns.int64("rtt_samples", |row| row.reported.round_trips);
    columns.optional_int64("rtt_min_us", |row| row.reported.round_trip_us().map(|rtt| rtt.0));
    columns.optional_float64("rtt_avg_us", |row| row.reported.round_trip_us().map(|rtt| rtt.1));
    columns.optional_int64("rtt_max_us", |row| row.reported.round_trip_us().map(|rtt| rtt.2));
    columns.into_batch()
}

/// A row of `rtp_interval`.
#[derive(Debug)]
pub(crate) struct RtpIntervalRow {
    flow_id: i64,
    direction: Direction,
    ssrc: u32,
    clock_rate_hz: Option<i32>,
    length_ns: i64,
    interval: RtpInterval,
    change: Change,
}

impl RtpIntervalRow {
    /// The rows of one stream in order of time.
    pub(crate) fn of(flow_id: i64, direction: Direction, stream: &RtpStream) -> impl Iterator<Item = Self> {
        let clock_rate_hz = stream.clock().map(|clock| clock.rate_hz);
        stream
            .intervals
            .with_changes()
            .map(move |(interval, change)| Self {
                flow_id,
                direction,
                ssrc: stream.ssrc,
                clock_rate_hz,
                length_ns: stream.intervals.length_ns(),
                interval: *interval,
                change,
            })
    }
}

/// Rows of `rtp_interval`.
pub(crate) fn rtp_intervals(rows: &[RtpIntervalRow]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("flow_id", |row| row.flow_id);
    columns.string("direction", |row| row.direction.name());
    columns.int64("ssrc", |row| i64::from(row.ssrc));
    columns.int64("interval_start_ns", |row| row.interval.start_ns);
    columns.int32("interval_ms", |row| {
        i32::try_from(row.length_ns / 1_000_000).unwrap_or(i32::MAX)
    });
    columns.int64("packets", |row| row.interval.packets);
    columns.int64("payload_bytes", |row| row.interval.payload_bytes);
    columns.int64("frames", |row| row.interval.frames);
    columns.int64("expected_packets", |row| row.change.expected_packets);
    columns.int64("lost_packets", |row| row.change.lost_packets);
    columns.optional_float64("jitter_ms", |row| row.interval.jitter_ms(row.clock_rate_hz?));
    columns.into_batch()
}
