use super::*;
use std::collections::VecDeque;
use std::num::NonZeroI64;
use std::sync::Arc;

use crate::queue::event::{DropCause, NetworkFields};
use crate::queue::flow::QueueFlow;
use crate::queue::interval::HOLD_NS;
use crate::queue::pairing::unlogged_drops::{FEWEST_SWEPT, MOST_IDLE_FLOWS};
use EventKind::{Dequeue, Drop, Enqueue, Free, Refuse};

fn event(kind: EventKind, time_ns: i64, skb: u64, measured_ns: Option<i64>) -> QueueEvent {
    QueueEvent {
        packet_bytes: Some(1514),
        measured_ns: measured_ns.and_then(NonZeroI64::new),
        ..QueueEvent::new(kind, time_ns, skb)
    }
}

/// An event of a flow, in a log that shows how many packets are queued but no drop out of the queue.
fn of_flow(kind: EventKind, time_ns: i64, skb: u64, port: u16, queued: i32) -> QueueEvent {
    QueueEvent {
        network: Some(NetworkFields {
            flow: Arc::new(QueueFlow {
                source: [10, 0, 0, 1].into(),
                destination: [10, 0, 0, 2].into(),
                protocol: 17,
                ports: Some((port, 9)),
            }),
            ip_id: None,
            transport_word: None,
        }),
        queue_packets: Some(queued),
        ..event(kind, time_ns, skb, None)
    }
}

fn handed_out(pairing: &mut QueuePairing, most: usize) -> Vec<QueuedPacket> {
    let mut rows = Vec::new();
    pairing.hand_out(most, |packet| rows.push(packet.clone()));
    rows
}

fn paired(drops_logged: bool, events: impl IntoIterator<Item = QueueEvent>) -> Vec<QueuedPacket> {
    let mut pairing = QueuePairing::new(drops_logged, 100_000_000, 86_400_000_000_000);
    for mut event in events {
        pairing.event(0, &mut event);
    }
    pairing.close();
    let mut rows = handed_out(&mut pairing, usize::MAX);
    rows.sort_by_key(|packet| packet.index);
    rows
}

fn pair(events: impl IntoIterator<Item = QueueEvent>) -> Vec<(Fate, Option<i64>)> {
    paired(true, events)
        .into_iter()
        .map(|packet| (packet.fate, packet.sojourn_ns))
        .collect()
}

fn unlogged(events: impl IntoIterator<Item = QueueEvent>) -> Vec<(Fate, Option<i64>)> {
    paired(false, events)
        .into_iter()
        .map(|packet| (packet.fate, packet.drop.map(|drop| drop.state.time_ns)))
        .collect()
}

#[test]
fn rows_come_in_the_order_of_first_events() {
    let fates = pair([
        event(Enqueue, 100, 1, None),
        event(Enqueue, 110, 2, None),
        event(Dequeue, 150, 2, Some(41)),
        event(Dequeue, 190, 1, None),
    ]);
    assert_eq!(fates, [(Fate::Dequeued, Some(90)), (Fate::Dequeued, Some(41))]);
}

#[test]
fn drops_are_told_apart_by_whether_the_packet_was_queued() {
    let fates = pair([
        event(Drop, 100, 1, None),
        event(Enqueue, 110, 2, None),
        event(Drop, 150, 2, Some(41)),
        event(Drop, 160, 3, Some(60)),
    ]);
    assert_eq!(
        fates,
        [
            (Fate::DroppedAtEnqueue, None),
            (Fate::DroppedInQueue, None),
            (Fate::DroppedInQueue, None)
        ]
    );
}

#[test]
fn a_dequeue_without_enqueue_has_no_sojourn_time() {
    assert_eq!(pair([event(Dequeue, 100, 1, Some(50))]), [(Fate::Dequeued, None)]);
}

#[test]
fn a_second_enqueue_censors_the_first() {
    let fates = pair([
        event(Enqueue, 100, 1, None),
        event(Enqueue, 500, 1, None),
        event(Dequeue, 600, 1, None),
    ]);
    assert_eq!(fates, [(Fate::QueuedAtEnd, None), (Fate::Dequeued, Some(100))]);
}

#[test]
fn a_dequeue_of_another_packet_in_the_same_buffer_is_not_paired() {
    let fates = pair([
        event(Enqueue, 100, 1, None),
        event(Dequeue, 90_000_100, 1, Some(5_000_000)),
    ]);
    assert_eq!(fates, [(Fate::QueuedAtEnd, None), (Fate::Dequeued, None)]);
    let fates = pair([of_flow(Enqueue, 100, 1, 5, 1), of_flow(Dequeue, 200, 1, 6, 0)]);
    assert_eq!(fates, [(Fate::QueuedAtEnd, None), (Fate::Dequeued, None)]);
}

#[test]
fn a_free_is_of_a_queue_if_the_packet_is_in_one_or_the_cause_says_so() {
    let cause = |kind| DropCause {
        kind,
        ..DropCause::default()
    };
    let free = |time, skb, kind| QueueEvent {
        cause: Some(Box::new(cause(kind))),
        packet_bytes: None,
        ..event(Free, time, skb, None)
    };
    let fates = pair([
        event(Enqueue, 100, 1, None),
        free(150, 1, None),
        free(160, 1, None),
        free(170, 2, Some("overlimit")),
    ]);
    assert_eq!(
        fates,
        [(Fate::DroppedInQueue, None), (Fate::DroppedAtEnqueue, None)]
    );
}

#[test]
fn a_packet_overtaken_in_its_flow_was_dropped() {
    let fates = unlogged([
        of_flow(Enqueue, 100, 1, 5, 1),
        of_flow(Enqueue, 110, 2, 6, 2),
        of_flow(Enqueue, 120, 3, 5, 3),
        of_flow(Dequeue, 200, 3, 5, 1),
    ]);
    assert_eq!(
        fates,
        [
            (Fate::DroppedInQueue, Some(200)),
            (Fate::QueuedAtEnd, None),
            (Fate::Dequeued, None)
        ]
    );
}

#[test]
fn a_packet_that_leaves_late_out_of_a_discipline_that_reorders_was_not_dropped() {
    let fates = unlogged([
        of_flow(Enqueue, 100, 1, 5, 1),
        of_flow(Enqueue, 120, 3, 5, 2),
        of_flow(Dequeue, 200, 3, 5, 1),
        of_flow(Dequeue, HOLD_NS, 1, 5, 0),
    ]);
    assert_eq!(fates, [(Fate::Dequeued, None), (Fate::Dequeued, None)]);
}

#[test]
fn a_buffer_that_comes_again_or_an_empty_queue_shows_a_drop() {
    let fates = unlogged([
        of_flow(Enqueue, 100, 1, 5, 1),
        of_flow(Enqueue, 110, 1, 6, 2),
        of_flow(Enqueue, 120, 2, 7, 3),
        of_flow(Dequeue, 200, 2, 7, 0),
        of_flow(Enqueue, 300, 3, 8, 1),
        of_flow(Enqueue, 400, 4, 9, 1),
        of_flow(Refuse, 500, 4, 9, 1),
    ]);
    assert_eq!(
        fates,
        [
            (Fate::DroppedInQueue, Some(110)),
            (Fate::DroppedInQueue, Some(200)),
            (Fate::Dequeued, None),
            (Fate::DroppedInQueue, Some(400)),
            (Fate::DroppedInQueue, Some(500)),
            (Fate::DroppedAtEnqueue, Some(500)),
        ]
    );
}

#[test]
fn where_events_were_lost_meanwhile_no_drop_is_made_up() {
    let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
    pairing.losses().report(Some(110));
    pairing.losses().event_read(120);
    for mut event in [
        of_flow(Enqueue, 100, 1, 5, 1),
        of_flow(Enqueue, 120, 3, 5, 2),
        of_flow(Dequeue, 200, 3, 5, 1),
    ] {
        pairing.event(0, &mut event);
    }
    pairing.close();
    let fates: Vec<_> = handed_out(&mut pairing, 9)
        .iter()
        .map(|packet| (packet.fate, packet.drop.clone()))
        .collect();
    assert_eq!(fates, [(Fate::QueuedAtEnd, None), (Fate::Dequeued, None)]);
}

#[test]
fn packets_wait_for_those_before_them_but_not_for_ever() {
    let mut pairing = QueuePairing::new(true, 100_000_000, 86_400_000_000_000);
    let indices = |rows: Vec<QueuedPacket>| rows.iter().map(|packet| packet.index).collect::<Vec<_>>();
    pairing.event(0, &mut event(Enqueue, 0, 99, None));
    for n in 0..3 {
        pairing.event(0, &mut event(Dequeue, 100 + n, 1, None));
    }
    pairing.set_aside(2, 8);
    assert!(handed_out(&mut pairing, 9).is_empty());
    for n in 0..5 {
        pairing.event(0, &mut event(Dequeue, 200 + n, 1, None));
    }
    pairing.set_aside(2, 8);
    assert_eq!(indices(handed_out(&mut pairing, 3)), [1, 2, 3]);
    pairing.event(0, &mut event(Dequeue, 300, 99, None));
    assert_eq!(indices(handed_out(&mut pairing, 2)), [0, 4]);
}

#[test]
fn of_flows_without_packets_only_so_many_are_kept() {
    let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
    for port in 0..u16::MAX {
        let time_ns = i64::from(port) * 10;
        pairing.event(0, &mut of_flow(Enqueue, time_ns, 1, port, 1));
        pairing.event(0, &mut of_flow(Dequeue, time_ns + 5, 1, port, 0));
    }
    assert!(pairing.unlogged.flows.len() <= MOST_IDLE_FLOWS + 1);
}

#[test]
fn of_flows_that_never_leave_only_so_many_are_kept() {
    // A buffer that comes again ends the packet before, and so does the time after a queue was seen empty.
    for (buffers, apart_ns) in [(1, 10), (u64::MAX, HOLD_NS / 8)] {
        let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
        for n in 0..50_000_u16 {
            let time_ns = i64::from(n) * apart_ns;
            pairing.event(0, &mut of_flow(Enqueue, time_ns, u64::from(n) % buffers, n, 1));
            pairing.hand_out(1, |_| ());
        }
        assert!(pairing.open.len() < 16);
        assert!(pairing.unlogged.flows.len() + pairing.unlogged.followed <= FEWEST_SWEPT + 2);
    }
}

#[test]
fn of_a_flow_that_never_leaves_only_so_many_packets_are_kept() {
    let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
    // The first stays; no event shows what became of it.
    for n in 0..50_000_i64 {
        pairing.event(0, &mut of_flow(Enqueue, n * 10, u64::from(n > 0), 5, 9));
    }
    let kept: usize = pairing.unlogged.flows.values().map(VecDeque::len).sum();
    assert_eq!(kept, pairing.unlogged.followed);
    assert!(kept <= FEWEST_SWEPT + 2);
}

#[test]
fn a_sweep_leaves_what_is_queued_in_its_order() {
    let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
    pairing.event(0, &mut of_flow(Enqueue, 0, 1, 5, 9));
    pairing.event(0, &mut of_flow(Enqueue, 5, 2, 5, 9));
    for n in 10..30_000_u16 {
        pairing.event(0, &mut of_flow(Enqueue, i64::from(n), 3, n, 9));
    }
    assert!(pairing.unlogged.flows.len() < 20_000);
    pairing.event(0, &mut of_flow(Dequeue, 40_000, 2, 5, 9));
    pairing.close();
    let packets = handed_out(&mut pairing, 2);
    let fates: Vec<_> = packets.iter().map(|packet| packet.fate).collect();
    assert_eq!(fates, [Fate::DroppedInQueue, Fate::Dequeued]);
}

#[test]
fn a_queue_that_is_empty_again_and_again_costs_nothing_for_the_packets_of_another() {
    let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
    for skb in 0..100_000u32 {
        pairing.event(1, &mut of_flow(Enqueue, skb.into(), skb.into(), 7, 2));
    }
    let began = std::time::Instant::now();
    for pair in 0..50_000u32 {
        for (skb, queued) in [(1, 2), (2, 2), (3, 1)] {
            let time_ns = 200_000 + i64::from(pair);
            let mut event = of_flow(Enqueue, time_ns, 10 * u64::from(pair) + skb, 9, queued);
            pairing.event(0, &mut event);
        }
    }
    // To walk all of the other queue each time takes minutes.
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    pairing.close();
    let rows = handed_out(&mut pairing, usize::MAX);
    let fates = |queue| {
        let of_queue = rows.iter().filter(move |packet| packet.queue == queue);
        of_queue
            .clone()
            .filter(|packet| packet.fate == Fate::DroppedInQueue)
            .count()
    };
    assert_eq!((fates(0), fates(1)), (149_999, 0));
}

#[test]
fn of_packets_whose_ends_are_missing_only_so_many_are_awaited() {
    for drops_logged in [false, true] {
        let mut pairing = QueuePairing::new(drops_logged, 100_000_000, 86_400_000_000_000);
        pairing.most_open = 1000;
        for skb in 0..1500u16 {
            pairing.event(0, &mut of_flow(Enqueue, skb.into(), skb.into(), skb, 2));
            assert!(pairing.open.len() <= 1000);
        }
        assert_eq!(pairing.left_open(), None);
        for skb in [499, 1499] {
            pairing.event(0, &mut of_flow(Dequeue, 2000, skb.into(), skb, 2));
        }
        pairing.close();
        let rows = handed_out(&mut pairing, usize::MAX);
        let dequeued: Vec<_> = rows
            .iter()
            .filter(|packet| packet.fate == Fate::Dequeued)
            .collect();
        assert_eq!(rows.len(), 1501);
        assert_eq!(
            dequeued
                .iter()
                .filter(|packet| packet.sojourn_ns == Some(501))
                .count(),
            1
        );
    }
}

#[test]
fn what_is_freed_elsewhere_was_not_dropped_by_the_queue() {
    let freed = |time_ns, skb, cause: Option<Option<&'static str>>| QueueEvent {
        cause: cause.map(|kind| {
            Box::new(DropCause {
                kind,
                ..DropCause::default()
            })
        }),
        packet_bytes: None,
        ..event(Free, time_ns, skb, None)
    };
    let fates = |cause, is_lost: bool| {
        let mut pairing = QueuePairing::new(true, 100_000_000, 86_400_000_000_000);
        pairing.event(0, &mut event(Enqueue, 100, 1, None));
        if is_lost {
            pairing.losses().report(Some(200));
        }
        let is_of_queue = pairing.event(0, &mut freed(300, 1, cause));
        pairing.close();
        (
            handed_out(&mut pairing, usize::MAX)[0].fate,
            is_of_queue == EventOf::Queue(0),
        )
    };
    assert_eq!(fates(None, false), (Fate::QueuedAtEnd, false));
    assert_eq!(fates(Some(None), false), (Fate::DroppedInQueue, true));
    // Its dequeue may be among what was lost.
    assert_eq!(fates(Some(None), true), (Fate::QueuedAtEnd, false));
    assert_eq!(fates(Some(Some("aqm")), true), (Fate::DroppedInQueue, true));
}

#[test]
fn several_packets_that_leave_at_once_shorten_the_queue_by_as_many() {
    let mut pairing = QueuePairing::new(true, 1_000, 86_400_000_000_000);
    for skb in 1..=3 {
        pairing.event(0, &mut event(Enqueue, 100, skb, None));
    }
    let mut bulk = QueueEvent {
        dequeued_packets: 3,
        ..event(Dequeue, 1_100, 1, None)
    };
    pairing.event(0, &mut bulk);
    pairing.event(0, &mut event(Enqueue, 2_100, 4, None));
    pairing.close();
    let rows = pairing.intervals().take(usize::MAX, true);
    let lengths: Vec<_> = rows.iter().map(|row| (row.start_ns, row.most_packets)).collect();
    assert_eq!(lengths, [(0, 3), (1_000, 3), (2_000, 1)]);
}

#[test]
fn a_refused_packet_in_the_buffer_of_one_that_left_unseen_was_not_queued() {
    let refused = || QueueEvent {
        cause: Some(Box::new(DropCause {
            kind: Some("overlimit"),
            is_refusal: true,
            ..DropCause::default()
        })),
        packet_bytes: None,
        ..event(Free, 300, 1, None)
    };
    let mut unknown = QueuePairing::new(true, 100_000_000, 86_400_000_000_000);
    assert_eq!(
        unknown.event(UNKNOWN_QUEUE, &mut refused()),
        EventOf::UnknownQueue
    );
    for (is_lost, fates) in [
        (false, vec![Fate::DroppedInQueue]),
        (true, vec![Fate::QueuedAtEnd, Fate::DroppedAtEnqueue]),
    ] {
        let mut pairing = QueuePairing::new(true, 100_000_000, 86_400_000_000_000);
        pairing.event(0, &mut event(Enqueue, 100, 1, None));
        if is_lost {
            pairing.losses().report(Some(200));
        }
        assert_eq!(pairing.event(0, &mut refused()), EventOf::Queue(0));
        pairing.close();
        let mut rows = handed_out(&mut pairing, usize::MAX);
        rows.sort_by_key(|packet| packet.index);
        assert_eq!(rows.iter().map(|packet| packet.fate).collect::<Vec<_>>(), fates);
    }
}

#[test]
fn a_freed_buffer_is_that_of_the_queue_it_came_into_last() {
    let mut pairing = QueuePairing::new(true, 100_000_000, 86_400_000_000_000);
    for queue in [1, 0, 2] {
        pairing.event(queue, &mut event(Enqueue, 100 + i64::from(queue), 1, None));
    }
    let mut freed = QueueEvent {
        cause: Some(Box::default()),
        packet_bytes: None,
        ..event(Free, 300, 1, None)
    };
    assert_eq!(pairing.event(0, &mut freed), EventOf::Queue(2));
    pairing.close();
    let dropped: Vec<_> = handed_out(&mut pairing, usize::MAX)
        .into_iter()
        .filter(|packet| packet.fate == Fate::DroppedInQueue)
        .map(|packet| packet.queue)
        .collect();
    assert_eq!(dropped, [2]);
}
