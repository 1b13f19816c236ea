package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Kinds of events, as infra/queue-probe/queue_events.bpf.c sends them.
const (
	eventDequeued = 0
	eventEnqueued = 1
	eventFreed    = 2
)

// Types of records of the binary form of a queue log.
const (
	recordEvent       = 0
	recordLost        = 1
	recordClockOffset = 2
	recordFailed      = 3
	recordOpenAtEnd   = 4
)

// A count of lost events of 255 means "at least 255", so a greater loss is several records.
const mostLostPerRecord = 254

// queueEvent is an event as the kernel's part sends it: little-endian, without gaps.
type queueEvent struct {
	TimeNs, Skb, Lost                                                                   uint64
	Handle, Limit, Packets, QstatsPackets, Bytes, Drops, Requeues, Overlimits, PktBytes uint32
	Captured                                                                            uint16
	Kind, Unused                                                                        uint8
	Device                                                                              [16]byte
	Head                                                                                [100]byte
	Padding                                                                             [4]byte
}

// buffer is a packet of the kernel at a device: addresses of packets come again.
type buffer struct {
	skb    uint64
	device [16]byte
}

// queueStream writes the binary form of a queue log, and knows which packets are in the queue as far as its records tell.
//
// The form has no record of a packet that is dropped out of the queue: such a packet stays open. One that is freed as a drop
// without having been enqueued is an enqueue that was refused.
type queueStream struct {
	to     io.Writer
	lost   uint64
	queued map[buffer]bool // false: it was freed, which no record tells
	unseen int             // dequeues without an enqueue
	// A buffer left with another packet than the one that was dropped out of it, which no record tells: a reader's counts differ.
	isUncountable bool
	record        []byte
}

// newQueueStream begins a log whose times are CLOCK_MONOTONIC.
func newQueueStream(to io.Writer, clockOffsetNs int64) (*queueStream, error) {
	stream := &queueStream{to: to, queued: map[buffer]bool{}}
	return stream, stream.write(recordClockOffset, fmt.Appendf(nil, "%d", clockOffsetNs))
}

func (stream *queueStream) write(kind byte, body []byte) error {
	stream.record = binary.LittleEndian.AppendUint16(stream.record[:0], uint16(3+len(body)))
	stream.record = append(append(stream.record, kind), body...)
	_, err := stream.to.Write(stream.record)
	return err
}

// loses writes how many events have been lost since the last such record, of lost in all.
func (stream *queueStream) loses(lost uint64) error {
	for stream.lost < lost {
		more := min(lost-stream.lost, mostLostPerRecord)
		if err := stream.write(recordLost, []byte{byte(more)}); err != nil {
			return err
		}
		stream.lost += more
	}
	return nil
}

// add writes an event, after what was lost before it.
func (stream *queueStream) add(event *queueEvent) error {
	// Processors that send at once may be a little out of order, so the number of lost ones may seem to fall.
	if err := stream.loses(event.Lost); err != nil {
		return err
	}
	of := buffer{event.Skb, event.Device}
	isQueued, isKnown := stream.queued[of]
	var kind, misc byte
	switch event.Kind {
	case eventEnqueued:
		kind = 1
		stream.queued[of] = true
	case eventDequeued:
		if !isQueued {
			stream.unseen++
			stream.isUncountable = stream.isUncountable || isKnown
		}
		delete(stream.queued, of)
	case eventFreed:
		if isQueued {
			stream.queued[of] = false
			return nil
		}
		if isKnown {
			delete(stream.queued, of)
		}
		kind, misc = 1, 1
	default:
		return fmt.Errorf("an event has the unknown kind %d", event.Kind)
	}
	captured := min(int(event.Captured), len(event.Head))
	body := make([]byte, 0, 62+len(event.Device)+captured)
	body = binary.LittleEndian.AppendUint64(body, event.TimeNs)
	for _, word := range []uint32{
		event.Handle, event.Limit, event.Packets, event.QstatsPackets, event.Bytes, event.Drops, event.Requeues, event.Overlimits,
	} {
		body = binary.LittleEndian.AppendUint32(body, word)
	}
	body = append(body, kind)
	body = binary.LittleEndian.AppendUint64(body, uint64(misc))
	body = binary.LittleEndian.AppendUint64(body, event.Skb)
	body = binary.LittleEndian.AppendUint16(body, uint16(min(event.PktBytes, math.MaxUint16)))
	body = append(body, byte(len(event.Device)))
	body = binary.LittleEndian.AppendUint16(body, uint16(captured))
	body = append(body, event.Device[:]...)
	body = append(body, event.Head[:captured]...)
	return stream.write(recordEvent, body)
}

// close ends the log: lost is how many events were lost in all.
func (stream *queueStream) close(lost uint64) error {
	if err := stream.loses(lost); err != nil {
		return err
	}
	if stream.isUncountable {
		return nil
	}
	return stream.write(recordOpenAtEnd, fmt.Appendf(nil, "lengths %d:%d", stream.unseen, len(stream.queued)))
}

// fail ends the log with the word that it cannot be trusted from here on.
func (stream *queueStream) fail() error { return stream.write(recordFailed, nil) }
