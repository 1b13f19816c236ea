package main

import (
	"math"
	"net/netip"
	"testing"
	"time"
)

func playing(ladder ...int64) *player {
	return &player{ladderBps: ladder, segmentS: 2, bufferS: 12, startSegments: 1, at: time.Unix(0, 0)}
}

func at(seconds float64) time.Time { return time.Unix(0, int64(seconds*1e9)) }

func TestAnEmptyBufferIsAStallUntilTheNextSegment(t *testing.T) {
	one := playing(100_000)
	one.arrived(at(1), 25_000, 1) // start-up takes 1 s and is not a stall
	if one.stalls != 0 || one.stalledS != 0 || one.bufferedS != 2 {
		t.Fatalf("%+v", one)
	}
	one.arrived(at(6), 25_000, 5) // 2 s of media for 5 s: 3 s stand still
	if one.stalls != 1 || math.Abs(one.stalledS-3) > 1e-9 || one.bufferedS != 2 {
		t.Fatalf("%+v", one)
	}
	one.advance(at(7))
	one.advance(at(9))
	one.advance(at(9.5)) // one stall, however often it is looked at
	if one.stalls != 2 || math.Abs(one.stalledS-4.5) > 1e-9 {
		t.Fatalf("%+v", one)
	}
}

func TestRatesGoUpStepByStepAndDownAtOnce(t *testing.T) {
	one := playing(100_000, 200_000, 400_000, 800_000)
	if rate := one.next(); rate != 0 {
		t.Fatal(rate)
	}
	one.arrived(at(0), 250_000, 1) // 2 Mbit/s
	one.arrived(at(0), 250_000, 1)
	for _, expected := range []int{1, 2, 3, 3} {
		if rate := one.next(); rate != expected {
			t.Fatalf("rate %d, expected %d", rate, expected)
		}
	}
	one.arrived(at(0), 2_500, 1) // 20 kbit/s: the harmonic mean is 59 kbit/s
	if rate := one.next(); rate != 0 {
		t.Fatal(rate)
	}
}

func TestNoSegmentIsAskedForThatWouldNotFit(t *testing.T) {
	one := playing(100_000)
	for range 6 {
		one.arrived(at(0), 25_000, 1)
	}
	if wait := one.wait(); wait != 2*time.Second {
		t.Fatal(wait)
	}
	one.advance(at(2))
	if wait := one.wait(); wait != 0 {
		t.Fatal(wait)
	}
}

func TestAFastServerGivesTheHighestRateOverOneConnection(t *testing.T) {
	one := &player{ladderBps: []int64{100_000, 1_000_000}, segmentS: 0.1, bufferS: 0.3, startSegments: 1}
	told := 0
	ended := false
	found, err := one.stream(netip.MustParseAddr("127.0.0.1"), served(t, 0), time.Now().Add(time.Second), func(line any) error {
		if _, is := line.(streamedSegment); is {
			told++
		} else {
			_, ended = line.(streamedEnd)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found.Segments < 8 || found.Segments > 14 || told != found.Segments || !ended || len(found.Ports) != 1 || found.Switches < 1 || found.StartupS < 0 {
		t.Fatalf("%+v", found)
	}
}
