package main

import (
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
)

func TestACallConnectsAndItsRateFollowsCongestionControl(t *testing.T) {
	signal := filepath.Join(t.TempDir(), "call")
	deadline := time.Now().Add(4 * time.Second)
	receiver := call{at: netip.MustParseAddrPort("127.0.0.1:0"), signal: signal, deadline: deadline}
	if err := receiver.open(0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer receiver.peer.Close()
	received := make(chan callReceived, 1)
	inbound := make(chan bool, 100)
	go func() {
		found, err := receiver.receive(func(report webrtc.StatsReport) error {
			for _, one := range report {
				if stats, is := one.(webrtc.InboundRTPStreamStats); is {
					inbound <- stats.PacketsReceived > 0
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		received <- found
	}()
	sender := call{at: netip.MustParseAddrPort("127.0.0.1:0"), signal: signal, deadline: deadline.Add(-200 * time.Millisecond)}
	if err := sender.open(300_000, 50_000, 2_500_000); err != nil {
		t.Fatal(err)
	}
	defer sender.peer.Close()
	var targets []int
	sent, err := sender.send(0, rand.New(rand.NewPCG(1, 2)), func(line targetLine) error {
		targets = append(targets, line.TargetBps)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := <-received
	if sent.Frames < 30 || sent.SSRC == 0 || found.Packets == 0 || found.Frames < sent.Frames*8/10 || found.Frames > sent.Frames {
		t.Fatalf("%+v %+v", sent, found)
	}
	if len(targets) < 10 || targets[len(targets)-1] <= 0 {
		t.Fatal(targets)
	}
	close(inbound)
	last := false
	for seen := range inbound {
		last = seen
	}
	if !last {
		t.Fatal("getStats has no packets of the stream")
	}
}

func TestAnEndWithoutAnotherSaysSo(t *testing.T) {
	one := call{
		at: netip.MustParseAddrPort("127.0.0.1:0"), signal: filepath.Join(t.TempDir(), "call"),
		deadline: time.Now().Add(100 * time.Millisecond),
	}
	if err := one.open(0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer one.peer.Close()
	if _, err := one.receive(func(webrtc.StatsReport) error { return nil }); err == nil || err.Error() != "no offer of the other end" {
		t.Fatal(err)
	}
}
