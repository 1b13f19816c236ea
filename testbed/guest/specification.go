package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// specification says what one run does, in full: the guest decides nothing. Times are milliseconds after the run's start.
type specification struct {
	RunID     string    `json:"run_id"`
	LeadMs    int64     `json:"lead_ms"`  // least time from the end of the set-up to the start
	EndMs     int64     `json:"end_ms"`   // when applications have ended
	DrainMs   int64     `json:"drain_ms"` // how long recording goes on after that
	Probes    []process `json:"probes"`   // recorders that see the set-up too: they start before it and end after Final
	Setup     []command `json:"setup"`
	Processes []process `json:"processes"`
	Steps     []step    `json:"steps"`
	Final     []command `json:"final"`
	Teardown  []command `json:"teardown"`
}

type command struct {
	Argv   []string `json:"argv"`
	Output string   `json:"output"` // file that standard output and standard error are added to; empty: none
	MayErr bool     `json:"may_fail"`
}

// process runs beside others from LaunchMs on. Words of Argv may hold {ns:MS}, the time since the epoch at MS.
type process struct {
	Name     string   `json:"name"`
	Argv     []string `json:"argv"`
	LaunchMs int64    `json:"launch_ms"`
	Output   string   `json:"output"`
	Errors   string   `json:"errors"`
	// wait: ends by itself; interrupt, terminate: by that signal when recording ends.
	Stop   string `json:"stop"`
	MayErr bool   `json:"may_fail"`
	// What a recorder prints to Errors when it records. Recorders start first, and the run's start is fixed when all are ready.
	Ready string `json:"ready"`
}

type step struct {
	AtMs int64    `json:"at_ms"`
	Argv []string `json:"argv"`
}

func readSpecification(path string) (*specification, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var found specification
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &found, nil
}

var timeWord = regexp.MustCompile(`\{ns:(-?\d+)\}`)

// atTimes puts times since the epoch in the place of {ns:MS}.
func atTimes(argv []string, startNs int64) []string {
	words := make([]string, len(argv))
	for index, word := range argv {
		words[index] = timeWord.ReplaceAllStringFunc(word, func(found string) string {
			ms, err := strconv.ParseInt(timeWord.FindStringSubmatch(found)[1], 10, 64)
			if err != nil {
				return found
			}
			return strconv.FormatInt(startNs+ms*1_000_000, 10)
		})
	}
	return words
}
