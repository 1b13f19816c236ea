// Command testbed-guest carries out runs of the testbed on a Linux machine: in the QEMU guest, or as root on a host.
//
// Without a shell and without an interpreter: a run is described by one JSON file, and what was really set and seen
// goes to files beside its captures.
package main

import (
	"fmt"
	"os"
)

var commands = map[string]struct {
	does string
	run  func(arguments []string) error
}{
	"init":             {"be the first process of the guest: mount, load modules, carry out all runs, switch off", bootedAsInit},
	"run":              {"carry out one run: run SPECIFICATION FOLDER", runCommand},
	"poll":             {"run a command again and again: poll INTERVAL_MS END_NS FILE KEY COMMAND…", pollCommand},
	"queue-record":     {"record the events of queues in the binary form until interrupted: queue-record HANDLE FILE", queueRecordCommand},
	"rtp-send":         {"send a constant-rate RTP stream", rtpSendCommand},
	"rtp-receive":      {"receive an RTP stream and count it", rtpReceiveCommand},
	"clip-send":        {"send an MPEG-2 transport stream over RTP in its own time", clipSendCommand},
	"web-serve":        {"answer requests for so many bytes over HTTP", webServeCommand},
	"web-load":         {"load a page again and again", webLoadCommand},
	"background-serve": {"send or take what clients of background ask for", backgroundServeCommand},
	"background":       {"sessions of short flows, or flows without end", backgroundCommand},
	"streaming-play":   {"stream segments of adaptive rate from web-serve", streamingPlayCommand},
	"webrtc-send":      {"send video of a WebRTC call, with Google congestion control", webrtcSendCommand},
	"webrtc-receive":   {"answer a WebRTC call", webrtcReceiveCommand},
}

func main() {
	name := "init"
	arguments := os.Args[1:]
	if os.Getpid() != 1 {
		if len(arguments) == 0 {
			usage()
		}
		name, arguments = arguments[0], arguments[1:]
	}
	command, known := commands[name]
	if !known {
		usage()
	}
	if err := command.run(arguments); err != nil {
		fmt.Fprintf(os.Stderr, "testbed-guest %s: %v\n", name, err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: testbed-guest COMMAND ARGUMENT…")
	for name, command := range commands {
		fmt.Fprintf(os.Stderr, "  %-17s %s\n", name, command.does)
	}
	os.Exit(2)
}
