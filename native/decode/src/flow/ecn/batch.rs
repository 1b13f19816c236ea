//! Arrow batches of the tables `flow_ecn` and `flow_ecn_interval`.

use arrow_array::RecordBatch;

use crate::flow::ecn::codepoints::{EcnInterval, Marked, Volume};
use crate::flow::ecn::connection::{EcnDirection, TcpEcn};
use crate::flow::ecn::negotiation::Mode;
use crate::flow::record::{Flow, Traffic};
use crate::output::columns::Columns;
use crate::output::fault::Fault;
use crate::packet::direction::Direction;
use crate::twos_complement::TwosComplement;

const DIRECTIONS: [Direction; 2] = [Direction::Fwd, Direction::Rev];

/// A row of `flow_ecn`: one direction of a flow in which ECN shows.
#[derive(Debug)]
pub(crate) struct EcnRow {
    flow_id: i64,
    direction: Direction,
    marked: Marked,
    not_ect: Volume,
    tcp: Option<TcpRow>,
}

/// What only TCP has.
#[derive(Debug)]
struct TcpRow {
    mode: Mode,
    negotiation: &'static str,
    fell_back: bool,
    flags: (Option<u8>, Option<u8>),
    codepoints: (Option<u8>, Option<u8>),
    data_packets: i64,
    ecn_data_packets: i64,
    echoed_ce_packets: Option<(i64, i64)>,
    echoed_bytes: (Option<i64>, Option<i64>, Option<i64>),
    ace_reports: Option<i64>,
    ace_is_zeroed: Option<bool>,
    options: (i64, i64),
    disagreements: Option<i64>,
    counters_backwards: i64,
    stale_reports: i64,
    echo_segments: Option<i64>,
    echo_runs: Option<i64>,
    reduced_segments: Option<i64>,
}

/// A row of `flow_ecn_interval`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EcnIntervalRow {
    pub(crate) flow_id: i64,
    pub(crate) direction: Direction,
    pub(crate) interval: EcnInterval,
}

/// The rows of a flow that has ended: both directions, or none if nothing of ECN shows.
pub(crate) fn rows_of(flow: &Flow) -> impl Iterator<Item = EcnRow> {
    let ecn = flow.tcp.as_ref().and_then(|tcp| tcp.ecn.as_deref());
    let shows = ecn.is_some() || flow.codepoints.is_some();
    let directions = if shows { &DIRECTIONS[..] } else { &[] };
    directions.iter().map(move |&direction| {
        let marked = flow
            .codepoints
            .as_ref()
            .map_or_else(Marked::default, |codepoints| codepoints.get(direction).total);
        EcnRow {
            flow_id: flow.id,
            direction,
            marked,
            not_ect: not_ect(flow.traffic.get(direction), &marked),
            tcp: ecn.map(|ecn| tcp_row(flow, ecn, direction)),
        }
    })
}

fn not_ect(traffic: &Traffic, marked: &Marked) -> Volume {
    let sum = marked.sum();
    Volume {
        packets: traffic.packets - sum.packets,
        bytes: traffic.bytes - sum.bytes,
    }
}

fn tcp_row(flow: &Flow, ecn: &TcpEcn, direction: Direction) -> TcpRow {
    let mode = ecn.mode();
    let EcnDirection {
        data_packets,
        ecn_data_packets,
        ace,
        bytes,
        disagreements,
        stale_reports,
        echo_runs,
        ..
    } = ecn.directions.get(direction);
    let accurate = mode == Mode::Accurate;
    let zeroed = ace.reports > 0 && !ace.is_alive;
    let of = |direction| flow.tcp.as_ref().map(|tcp| tcp.directions.get(direction));
    let options = (bytes.ect0_first_options, bytes.ect1_first_options);
    TcpRow {
        mode,
        negotiation: ecn.negotiation.name(),
        fell_back: ecn.negotiation.fell_back,
        flags: ecn.negotiation.flags(),
        codepoints: ecn.negotiation.codepoints(direction),
        data_packets: *data_packets,
        ecn_data_packets: *ecn_data_packets,
        echoed_ce_packets: (accurate && ace.reports > 0 && !zeroed).then_some((ace.min, ace.max)),
        echoed_bytes: bytes.totals(),
        ace_reports: accurate.then_some(ace.reports),
        ace_is_zeroed: accurate.then_some(zeroed),
        options,
        disagreements: (accurate && options != (0, 0)).then_some(*disagreements),
        counters_backwards: bytes.backwards,
        stale_reports: *stale_reports,
        echo_segments: of(direction.opposite())
            .filter(|_| !accurate)
            .map(|tcp| tcp.ece_packets),
        echo_runs: (!accurate).then_some(*echo_runs),
        reduced_segments: of(direction).filter(|_| !accurate).map(|tcp| tcp.cwr_packets),
    }
}

/// The intervals of a flow that has ended.
pub(crate) fn intervals_of(flow: &Flow) -> impl Iterator<Item = EcnIntervalRow> {
    flow.codepoints.iter().flat_map(move |codepoints| {
        DIRECTIONS.into_iter().flat_map(move |direction| {
            codepoints
                .get(direction)
                .as_slice()
                .iter()
                .map(move |interval| EcnIntervalRow {
                    flow_id: flow.id,
                    direction,
                    interval: *interval,
                })
        })
    })
}

fn codepoint(ecn: u8) -> &'static str {
    match ecn & 3 {
        0 => "not-ect",
        1 => "ect1",
        2 => "ect0",
        _ => "ce",
    }
}

fn marked_columns<R>(columns: &mut Columns<'_, R>, marked: impl Fn(&R) -> &Marked) {
    type Codepoint = (&'static str, fn(&Marked) -> Volume);
    let codepoints: [Codepoint; 3] = [
        ("ect0", |marked| marked.ect0),
        ("ect1", |marked| marked.ect1),
        ("ce", |marked| marked.ce),
    ];
    for (name, of) in codepoints {
        columns.int64(format!("{name}_packets"), |row| of(marked(row)).packets);
        columns.int64(format!("{name}_bytes"), |row| of(marked(row)).bytes);
    }
}

pub(crate) fn flows(rows: &[EcnRow]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("flow_id", |row| row.flow_id);
    columns.string("direction", |row| row.direction.name());
    columns.int64("not_ect_packets", |row| row.not_ect.packets);
    columns.int64("not_ect_bytes", |row| row.not_ect.bytes);
    marked_columns(&mut columns, |row| &row.marked);
    columns.optional_string("ecn_mode", |row| row.tcp.as_ref().map(|tcp| tcp.mode.name()));
    columns.optional_string("negotiation", |row| row.tcp.as_ref().map(|tcp| tcp.negotiation));
    columns.optional_bool("fell_back", |row| row.tcp.as_ref().map(|tcp| tcp.fell_back));
    columns.optional_int8("syn_flags", |row| Some(row.tcp.as_ref()?.flags.0?.signed()));
    columns.optional_int8("syn_ack_flags", |row| Some(row.tcp.as_ref()?.flags.1?.signed()));
    columns.optional_string("handshake_codepoint", |row| {
        row.tcp.as_ref()?.codepoints.0.map(codepoint)
    });
    columns.optional_string("handshake_codepoint_reported", |row| {
        row.tcp.as_ref()?.codepoints.1.map(codepoint)
    });
    columns.optional_int64("data_packets", |row| row.tcp.as_ref().map(|tcp| tcp.data_packets));
    columns.optional_int64("ecn_data_packets", |row| {
        row.tcp.as_ref().map(|tcp| tcp.ecn_data_packets)
    });
    columns.optional_int64("echoed_ce_packets_min", |row| {
        row.tcp.as_ref()?.echoed_ce_packets.map(|bounds| bounds.0)
    });
    columns.optional_int64("echoed_ce_packets_max", |row| {
        row.tcp.as_ref()?.echoed_ce_packets.map(|bounds| bounds.1)
    });
    columns.optional_int64("echoed_ect0_bytes", |row| row.tcp.as_ref()?.echoed_bytes.0);
    columns.optional_int64("echoed_ect1_bytes", |row| row.tcp.as_ref()?.echoed_bytes.1);
    columns.optional_int64("echoed_ce_bytes", |row| row.tcp.as_ref()?.echoed_bytes.2);
    columns.optional_int64("ace_reports", |row| row.tcp.as_ref()?.ace_reports);
    columns.optional_bool("ace_is_zeroed", |row| row.tcp.as_ref()?.ace_is_zeroed);
    columns.optional_int64("ect0_first_options", |row| {
        row.tcp.as_ref().map(|tcp| tcp.options.0)
    });
    columns.optional_int64("ect1_first_options", |row| {
        row.tcp.as_ref().map(|tcp| tcp.options.1)
    });
    columns.optional_int64("option_disagreements", |row| row.tcp.as_ref()?.disagreements);
    columns.optional_int64("option_counters_backwards", |row| {
        row.tcp.as_ref().map(|tcp| tcp.counters_backwards)
    });
    columns.optional_int64("stale_reports", |row| {
        row.tcp.as_ref().map(|tcp| tcp.stale_reports)
    });
    columns.optional_int64("echo_segments", |row| row.tcp.as_ref()?.echo_segments);
    columns.optional_int64("echo_runs", |row| row.tcp.as_ref()?.echo_runs);
    columns.optional_int64("reduced_segments", |row| row.tcp.as_ref()?.reduced_segments);
    columns.into_batch()
}

pub(crate) fn intervals(rows: &[EcnIntervalRow], interval_ms: i32) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("flow_id", |row| row.flow_id);
    columns.string("direction", |row| row.direction.name());
    columns.int64("interval_start_ns", |row| row.interval.start_ns);
    columns.int32("interval_ms", |_| interval_ms);
    marked_columns(&mut columns, |row| &row.interval.marked);
    columns.into_batch()
}
