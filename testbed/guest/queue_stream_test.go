package main

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// readRecords returns type and body of each record; a stream that does not end with a record is told.
func readRecords(t *testing.T, content []byte) (kinds []byte, bodies [][]byte) {
	t.Helper()
	for len(content) > 0 {
		size := int(binary.LittleEndian.Uint16(content))
		if size < 3 || size > len(content) {
			t.Fatalf("a record of %d bytes where %d are left", size, len(content))
		}
		kinds, bodies = append(kinds, content[2]), append(bodies, content[3:size])
		content = content[size:]
	}
	return kinds, bodies
}

func event(kind uint8, timeNs, skb, lost uint64) *queueEvent {
	found := &queueEvent{TimeNs: timeNs, Skb: skb, Lost: lost, Kind: kind, Handle: 0xb00000, Packets: 3, Bytes: 4542, PktBytes: 1514, Captured: 100}
	copy(found.Device[:], "btl")
	for place := range found.Head {
		found.Head[place] = byte(place)
	}
	return found
}

func written(t *testing.T, lostInAll uint64, events ...*queueEvent) ([]byte, [][]byte) {
	t.Helper()
	var to bytes.Buffer
	stream, err := newQueueStream(&to, -5)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range events {
		if err := stream.add(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.close(lostInAll); err != nil {
		t.Fatal(err)
	}
	return readRecords(t, to.Bytes())
}

func TestAnEventHasTheLayoutOfTheForm(t *testing.T) {
	kinds, bodies := written(t, 0, event(eventEnqueued, 17, 0xffff8880_00000001, 0))
	if !slices.Equal(kinds, []byte{2, 0, 4}) || string(bodies[0]) != "-5" || string(bodies[2]) != "lengths 0:1" {
		t.Fatalf("records %v, clock %q, end %q", kinds, bodies[0], bodies[2])
	}
	body := bodies[1]
	words := func(at int) uint32 { return binary.LittleEndian.Uint32(body[at:]) }
	if binary.LittleEndian.Uint64(body) != 17 || words(8) != 0xb00000 || words(16) != 3 || words(24) != 4542 {
		t.Fatalf("time, handle, packets or bytes are not where they belong: % x", body)
	}
	if body[40] != 1 || binary.LittleEndian.Uint64(body[41:]) != 0 || binary.LittleEndian.Uint64(body[49:]) != 0xffff8880_00000001 {
		t.Fatalf("event, misc or address are not where they belong: % x", body)
	}
	if binary.LittleEndian.Uint16(body[57:]) != 1514 || body[59] != 16 || binary.LittleEndian.Uint16(body[60:]) != 100 {
		t.Fatalf("lengths are not where they belong: % x", body)
	}
	if string(body[62:65]) != "btl" || body[78] != 0 || body[177] != 99 || len(body) != 178 {
		t.Fatalf("device or packet are not where they belong: % x", body)
	}
}

func TestOnlyAPacketThatWasNeverInTheQueueIsRefused(t *testing.T) {
	kinds, bodies := written(t, 0,
		event(eventEnqueued, 1, 7, 0), event(eventFreed, 2, 7, 0), // dropped out of the queue: no record
		event(eventFreed, 3, 8, 0),                                   // refused
		event(eventEnqueued, 4, 9, 0), event(eventDequeued, 5, 9, 0), // passed
		event(eventDequeued, 6, 10, 0), // came before the recording
	)
	if !slices.Equal(kinds, []byte{2, 0, 0, 0, 0, 0, 4}) {
		t.Fatalf("records %v", kinds)
	}
	refused := bodies[2]
	if refused[40] != 1 || refused[41] != 1 || binary.LittleEndian.Uint64(refused[49:]) != 8 {
		t.Fatalf("the refused packet is written as % x", refused)
	}
	if bodies[5][40] != 0 || string(bodies[6]) != "lengths 1:1" {
		t.Fatalf("event %d, end %q", bodies[5][40], bodies[6])
	}
}

func TestABufferThatComesAgainIsAnotherPacket(t *testing.T) {
	// Which of two packets left is not told by the records, so there is no record of what is open.
	kinds, _ := written(t, 0, event(eventEnqueued, 1, 7, 0), event(eventFreed, 2, 7, 0), event(eventDequeued, 3, 7, 0))
	if !slices.Equal(kinds, []byte{2, 0, 0}) {
		t.Fatalf("records %v", kinds)
	}
	_, bodies := written(t, 0, event(eventEnqueued, 4, 8, 0), event(eventFreed, 5, 8, 0), event(eventFreed, 6, 8, 0))
	if end := string(bodies[len(bodies)-1]); end != "lengths 0:0" {
		t.Fatalf("end %q", end)
	}
	other := event(eventDequeued, 2, 7, 0)
	other.Device[0] = 'x'
	_, bodies = written(t, 0, event(eventEnqueued, 1, 7, 0), other)
	if end := string(bodies[len(bodies)-1]); end != "lengths 1:1" {
		t.Fatalf("two devices are taken for one: end %q", end)
	}
}

func TestEveryLostEventIsCountedBeforeTheNextOne(t *testing.T) {
	kinds, bodies := written(t, 1003, event(eventEnqueued, 1, 7, 0), event(eventEnqueued, 2, 8, 600), event(eventEnqueued, 3, 9, 599))
	if !slices.Equal(kinds, []byte{2, 0, 1, 1, 1, 0, 0, 1, 1, 4}) {
		t.Fatalf("records %v", kinds)
	}
	lost := 0
	for place, kind := range kinds {
		if kind == recordLost {
			if bodies[place][0] == 255 {
				t.Fatal("255 means at least 255")
			}
			lost += int(bodies[place][0])
		}
	}
	if lost != 1003 {
		t.Fatalf("%d events are lost", lost)
	}
}

func TestAnEventOfAnUnknownKindIsNotWritten(t *testing.T) {
	stream, err := newQueueStream(&bytes.Buffer{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if stream.add(event(9, 1, 7, 0)) == nil {
		t.Fatal("an event of an unknown kind was taken")
	}
}
