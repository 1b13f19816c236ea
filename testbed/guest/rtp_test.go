package main

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"
)

func TestAStreamHasTheRateSequenceAndTimesOfItsMedia(t *testing.T) {
	receiver, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	to := receiver.LocalAddr().(*net.UDPAddr).AddrPort()
	stream := rtpStream{
		from: netip.MustParseAddrPort("127.0.0.1:0"), to: to, payloadType: 96, clockHz: 90_000, frameNs: 10_000_000,
		frameBytes: 2500, maxPayload: 1188, ssrc: 7, durationNs: 200_000_000,
		generator: rand.New(rand.NewPCG(1, 2)), marksFrames: true,
	}
	sent, err := stream.send()
	if err != nil {
		t.Fatal(err)
	}
	if sent.Frames != 20 || sent.Packets != 60 || sent.RTPBytes != 20*2500+60*rtpHeaderBytes {
		t.Fatalf("%+v", sent)
	}
	packet := make([]byte, 2000)
	var sequence uint16
	var first uint32
	for index := range 60 {
		if err := receiver.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := receiver.Read(packet); err != nil {
			t.Fatal(err)
		}
		number, timestamp := binary.BigEndian.Uint16(packet[2:]), binary.BigEndian.Uint32(packet[4:])
		if index == 0 {
			sequence, first = number, timestamp
		}
		if number != sequence+uint16(index) || timestamp-first != uint32(index/3)*900 {
			t.Fatalf("packet %d: sequence %d, timestamp %d", index, number, timestamp-first)
		}
		if marked := packet[1]&0x80 != 0; marked != (index%3 == 2) {
			t.Fatalf("packet %d: marker %v", index, marked)
		}
	}
}

// clipOf returns a transport stream with a clock reference each so many packets, and so many ns between references.
func clipOf(packets, every int, apartNs, firstNs int64) []byte {
	clip := make([]byte, packets*tsPacketBytes)
	for index := range packets {
		packet := clip[index*tsPacketBytes:][:tsPacketBytes]
		packet[0], packet[1], packet[2], packet[3] = tsSyncByte, 0x01, 0x00, 0x10
		binary.BigEndian.PutUint32(packet[100:], uint32(index))
		if index%every != 0 {
			continue
		}
		ticks := (firstNs + int64(index/every)*apartNs) * (pcrHz / 1_000_000) / 1000 % pcrWrapsAt
		base, extension := ticks/300, ticks%300
		packet[3], packet[4], packet[5] = 0x30, 7, pcrFlag
		binary.BigEndian.PutUint32(packet[6:], uint32(base>>1))
		packet[10], packet[11] = byte(base<<7)|0x7e|byte(extension>>8), byte(extension)
	}
	return clip
}

func TestPacketsOfAClipAreDueOnALineBetweenItsClockReferences(t *testing.T) {
	// The clock wraps after 95,443.7 s: between the second and the third reference.
	for _, firstNs := range []int64{0, 95_443_600_000_000} {
		times, err := timesOfClip(clipOf(50, 20, 40_000_000, firstNs))
		if err != nil {
			t.Fatal(err)
		}
		for index, ns := range times {
			if off := ns - int64(index)*2_000_000; off < -1000 || off > 1000 {
				t.Fatalf("packet %d is due at %d ns", index, ns)
			}
		}
	}
	for _, bad := range [][]byte{nil, make([]byte, 188), make([]byte, 100), clipOf(10, 20, 1, 0)} {
		if _, err := timesOfClip(bad); err == nil {
			t.Fatalf("%d bytes were taken as a clip", len(bad))
		}
	}
}

func TestAClipArrivesWholeAndInItsTime(t *testing.T) {
	receiver, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	clip := clipOf(100, 10, 20_000_000, 0)
	begun := time.Now()
	to := receiver.LocalAddr().(*net.UDPAddr).AddrPort()
	sent, err := sendClip(clip, netip.MustParseAddrPort("127.0.0.1:0"), to, 70_000, 0, realtimeNs()+10e9)
	if err != nil || sent.Packets != 15 || sent.RTPBytes != int64(len(clip)+15*rtpHeaderBytes) {
		t.Fatal(sent, err)
	}
	if took := time.Since(begun); took < 190*time.Millisecond {
		t.Fatalf("0.2 s of a clip took %s", took)
	}
	var arrived []byte
	packet := make([]byte, 2000)
	for index := range 15 {
		if err := receiver.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		size, err := receiver.Read(packet)
		if err != nil {
			t.Fatal(err)
		}
		if number := binary.BigEndian.Uint16(packet[2:]); packet[1] != tsPayloadType || number != uint16(70_000%65_536+index) {
			t.Fatalf("packet %d: %d", index, number)
		}
		arrived = append(arrived, packet[rtpHeaderBytes:size]...)
	}
	if string(arrived) != string(clip) {
		t.Fatal("the clip is not what was sent")
	}
}
