package main

import (
	"time"
	_ "unsafe" // for go:linkname
)

// monotonicNs is CLOCK_MONOTONIC, the clock of the kernel's tracepoints.
//
//go:linkname monotonicNs runtime.nanotime
func monotonicNs() int64

func realtimeNs() int64 { return time.Now().UnixNano() }

// clockOffsetNs is what to add to CLOCK_MONOTONIC for the time since the epoch, read between two readings of the former.
func clockOffsetNs() int64 {
	before := monotonicNs()
	real := realtimeNs()
	after := monotonicNs()
	return real - (before+after)/2
}

// every calls does at startNs and each stepNs later, as long as that is before endNs, and tells it that time. A call that
// takes longer than a step is followed by the next at once.
func every(startNs, endNs, stepNs int64, does func(atNs int64) error) error {
	for next := startNs; next < endNs; next += stepNs {
		sleepUntil(next)
		if err := does(next); err != nil {
			return err
		}
	}
	return nil
}

// sleepUntil returns at a time since the epoch, or at once when it has passed.
func sleepUntil(epochNs int64) {
	if wait := epochNs - realtimeNs(); wait > 0 {
		time.Sleep(time.Duration(wait))
	}
}
