//! Arrow batches of the tables `flow_spin` and `flow_spin_edge`.

use arrow_array::RecordBatch;

use crate::flow::record::Flow;
use crate::flow::spin::state::Edge;
use crate::output::columns::Columns;
use crate::output::fault::Fault;
use crate::packet::direction::Direction;

const DIRECTIONS: [Direction; 2] = [Direction::Fwd, Direction::Rev];

/// A row of `flow_spin`: one direction of a flow of QUIC.
#[derive(Debug)]
pub(crate) struct SpinRow {
    flow_id: i64,
    direction: Direction,
    version: u32,
    short_header_packets: i64,
    spin_packets: i64,
    edges: i64,
}

/// A row of `flow_spin_edge`.
#[derive(Debug)]
pub(crate) struct EdgeRow {
    flow_id: i64,
    direction: Direction,
    number: i64,
    edge: Edge,
}

/// The rows of a flow that has ended: both directions, or none if it is not QUIC.
pub(crate) fn rows_of(flow: &Flow) -> impl Iterator<Item = SpinRow> {
    flow.spin.iter().flat_map(move |spin| {
        DIRECTIONS.map(|direction| {
            let one = spin.directions.get(direction);
            SpinRow {
                flow_id: flow.id,
                direction,
                version: spin.version,
                short_header_packets: one.short_header_packets,
                spin_packets: one.spin_packets,
                edges: one.edges_seen,
            }
        })
    })
}

/// The edges of a flow that has ended.
pub(crate) fn edges_of(flow: &Flow) -> impl Iterator<Item = EdgeRow> {
    flow.spin.iter().flat_map(move |spin| {
        DIRECTIONS.into_iter().flat_map(move |direction| {
            let edges = spin.directions.get(direction).edges.iter();
            edges.enumerate().map(move |(number, edge)| EdgeRow {
                flow_id: flow.id,
                direction,
                number: number as i64,
                edge: *edge,
            })
        })
    })
}

pub(crate) fn flows(rows: &[SpinRow]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("flow_id", |row| row.flow_id);
    columns.string("direction", |row| row.direction.name());
    columns.int64("quic_version_number", |row| row.version.into());
    columns.int64("short_header_packets", |row| row.short_header_packets);
    columns.int64("spin_packets", |row| row.spin_packets);
    columns.int64("edges", |row| row.edges);
    columns.into_batch()
}

pub(crate) fn edges(rows: &[EdgeRow]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("flow_id", |row| row.flow_id);
    columns.string("direction", |row| row.direction.name());
    columns.int64("edge_number", |row| row.number);
    columns.int64("edge_ns", |row| row.edge.time_ns);
    columns.bool("spin", |row| row.edge.value);
    columns.optional_int64("since_edge_ns", |row| row.edge.since_edge_ns);
    columns.optional_int64("since_other_edge_ns", |row| row.edge.since_other_edge_ns);
    columns.int64("packets_before", |row| row.edge.packets_before);
    columns.int64("longest_silence_ns", |row| row.edge.longest_silence_ns);
    columns.into_batch()
}
