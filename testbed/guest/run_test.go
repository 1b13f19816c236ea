package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func carried(t *testing.T, wanted specification) (*result, string) {
	t.Helper()
	folder := t.TempDir()
	came, err := carryOut(&wanted, folder)
	if err != nil {
		t.Fatal(err)
	}
	return came, folder
}

func TestTimesOfProcessesAreCountedFromTheStart(t *testing.T) {
	came, folder := carried(t, specification{
		RunID: "r", LeadMs: 10, EndMs: 300, DrainMs: 50,
		Processes: []process{{Name: "echo", Argv: []string{"echo", "{ns:250}"}, LaunchMs: 200, Output: "out.txt", Stop: "wait"}},
		Steps:     []step{{AtMs: 100, Argv: []string{"true"}}},
	})
	if len(came.Failures) > 0 {
		t.Fatal(came.Failures)
	}
	text, err := os.ReadFile(filepath.Join(folder, "out.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var at json.Number = json.Number(strings.TrimSpace(string(text)))
	ns, err := at.Int64()
	if err != nil || ns != came.StartNs+250_000_000 {
		t.Fatalf("%v, expected %d", ns, came.StartNs+250_000_000)
	}
	if late := came.Processes[0].LaunchedNs - came.StartNs - 200_000_000; late < 0 || late > 5_000_000_000 {
		t.Fatalf("launched %d ns late", late)
	}
	if came.StartNs%1_000_000_000 != 0 {
		t.Fatal("the start is not a whole second")
	}
}

func TestAFailedSetUpIsToldAndTakenDown(t *testing.T) {
	came, folder := carried(t, specification{
		RunID:    "r",
		Setup:    []command{{Argv: []string{"sh", "-c", "echo no; exit 3"}}, {Argv: []string{"touch", "after"}}},
		Teardown: []command{{Argv: []string{"touch", "down"}}},
	})
	if len(came.Failures) != 1 || !strings.Contains(came.Failures[0], "exit status 3: no") {
		t.Fatal(came.Failures)
	}
	if _, err := os.Stat(filepath.Join(folder, "after")); err == nil {
		t.Fatal("the set-up went on")
	}
	if _, err := os.Stat(filepath.Join(folder, "down")); err != nil {
		t.Fatal("nothing was taken down")
	}
}

func TestAProcessThatFailsIsToldWithItsName(t *testing.T) {
	came, _ := carried(t, specification{
		RunID: "r", EndMs: 100,
		Processes: []process{
			{Name: "bad", Argv: []string{"false"}, Stop: "wait"},
			{Name: "recorder", Argv: []string{"sleep", "60"}, Stop: "interrupt"},
		},
	})
	if len(came.Failures) != 1 || !strings.HasPrefix(came.Failures[0], "bad:") {
		t.Fatal(came.Failures)
	}
}

func TestTheSliceOfALogHasItsHeaderOnce(t *testing.T) {
	if got := atTimes([]string{"a{ns:-1}b", "{ns:x}"}, 2_000_000); got[0] != "a1000000b" || got[1] != "{ns:x}" {
		t.Fatal(got)
	}
}

func TestAProbeSeesTheSetUpAndEndsBeforeTheTakingDown(t *testing.T) {
	note := func(word string) []command {
		return []command{{Argv: []string{"sh", "-c", "echo " + word + " >> order"}}}
	}
	probe := "trap 'echo ended >> order; exit' INT; echo began >> order; echo ready >&2; while :; do sleep 0.01; done"
	came, folder := carried(t, specification{
		RunID: "r", LeadMs: 10, EndMs: 50, DrainMs: 10, Setup: note("setup"), Final: note("final"), Teardown: note("down"),
		Probes: []process{{Name: "probe", Argv: []string{"sh", "-c", probe}, Errors: "probe.err", Stop: "interrupt", Ready: "ready"}},
	})
	if len(came.Failures) > 0 {
		t.Fatal(came.Failures)
	}
	order, err := os.ReadFile(filepath.Join(folder, "order"))
	if err != nil {
		t.Fatal(err)
	}
	if found := strings.Fields(string(order)); strings.Join(found, " ") != "began setup final ended down" {
		t.Fatal(found)
	}
	if len(came.Processes) != 1 || came.Processes[0].Status != "ok" {
		t.Fatal(came.Processes)
	}
}
