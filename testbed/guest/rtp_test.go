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
