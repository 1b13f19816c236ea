package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	killAfter   = 10 * time.Second
	readyWithin = 30 * time.Second
)

// result is what a run came to: when it really started, what each process and step did.
type result struct {
	RunID         string          `json:"run_id"`
	StartNs       int64           `json:"start_ns"`
	EndNs         int64           `json:"end_ns"`
	ClockOffsetNs int64           `json:"monotonic_offset_ns"`
	OffsetAtEndNs int64           `json:"monotonic_offset_at_end_ns"`
	Kernel        string          `json:"kernel"`
	Processes     []processResult `json:"processes"`
	Steps         []stepResult    `json:"steps"`
	Failures      []string        `json:"failures"`
}

type processResult struct {
	Name       string `json:"name"`
	LaunchedNs int64  `json:"launched_ns"`
	EndedNs    int64  `json:"ended_ns"`
	Status     string `json:"status"`
}

type stepResult struct {
	AtNs    int64  `json:"at_ns"`
	Command string `json:"command"`
}

type running struct {
	process
	command *exec.Cmd
	ended   chan error
	result  *processResult
}

func runCommand(arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("expected SPECIFICATION FOLDER")
	}
	wanted, err := readSpecification(arguments[0])
	if err != nil {
		return err
	}
	came, err := carryOut(wanted, arguments[1])
	if err != nil {
		return err
	}
	return writeResult(came, arguments[1])
}

func writeResult(came *result, folder string) error {
	text, err := json.MarshalIndent(came, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "result.json"), append(text, '\n'), 0o644)
}

// carryOut sets up, runs and takes down one run. What fails within it is told in the result; an error is returned only
// where nothing could be recorded.
func carryOut(wanted *specification, folder string) (*result, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	came := &result{RunID: wanted.RunID, Kernel: kernelVersion(), Failures: []string{}, Steps: []stepResult{}}
	defer func() {
		for _, one := range wanted.Teardown {
			came.note(one.run(folder))
		}
	}()
	probes, err := startRecorders(wanted.Probes, folder)
	defer func() {
		for _, one := range probes {
			came.note(one.finish())
			came.Processes = append(came.Processes, *one.result)
		}
	}()
	if err != nil {
		came.note(err)
		return came, nil
	}
	for _, one := range wanted.Setup {
		if err := one.run(folder); err != nil {
			came.note(err)
			return came, nil
		}
	}
	recorders, err := startRecorders(wanted.Processes, folder)
	if err != nil {
		came.note(err)
		for _, one := range recorders {
			came.note(one.finish())
		}
		return came, nil
	}
	came.ClockOffsetNs = clockOffsetNs()
	// A whole second, so that intervals of a second of several runs are cut alike.
	startNs := (realtimeNs()+wanted.LeadMs*1_000_000)/1_000_000_000*1_000_000_000 + 1_000_000_000
	came.StartNs = startNs
	processes := append(came.follow(wanted, folder, startNs), recorders...)
	sleepUntil(startNs + (wanted.EndMs+wanted.DrainMs)*1_000_000)
	for _, one := range processes {
		came.note(one.finish())
		came.Processes = append(came.Processes, *one.result)
	}
	came.EndNs = realtimeNs()
	came.OffsetAtEndNs = clockOffsetNs()
	for _, one := range wanted.Final {
		came.note(one.run(folder))
	}
	return came, nil
}

func (came *result) note(err error) {
	if err != nil {
		came.Failures = append(came.Failures, err.Error())
	}
}

// follow starts processes and makes steps, each at its time; steps of one time come in the order given.
func (came *result) follow(wanted *specification, folder string, startNs int64) []*running {
	type event struct {
		atMs int64
		does func()
	}
	var events []event
	var processes []*running
	for _, one := range wanted.Processes {
		if one.Ready != "" {
			continue
		}
		events = append(events, event{one.LaunchMs, func() {
			started, err := launch(one, folder, startNs)
			came.note(err)
			if err == nil {
				processes = append(processes, started)
			}
		}})
	}
	for _, one := range wanted.Steps {
		events = append(events, event{one.AtMs, func() {
			atNs := realtimeNs()
			output, err := exec.Command(one.Argv[0], one.Argv[1:]...).CombinedOutput()
			came.Steps = append(came.Steps, stepResult{atNs, strings.Join(one.Argv, " ")})
			if err != nil {
				came.note(fmt.Errorf("step %v: %w: %s", one.Argv, err, output))
			}
		}})
	}
	slices.SortStableFunc(events, func(left, right event) int { return int(left.atMs - right.atMs) })
	for _, one := range events {
		sleepUntil(startNs + one.atMs*1_000_000)
		one.does()
	}
	return processes
}

// startRecorders starts what records, and returns when all of it does.
func startRecorders(wanted []process, folder string) ([]*running, error) {
	var recorders []*running
	for _, one := range wanted {
		if one.Ready == "" {
			continue
		}
		started, err := launch(one, folder, 0)
		if err != nil {
			return recorders, err
		}
		recorders = append(recorders, started)
	}
	for _, one := range recorders {
		if err := one.awaitReady(folder); err != nil {
			return recorders, err
		}
	}
	return recorders, nil
}

func (one *running) awaitReady(folder string) error {
	for waited := time.Duration(0); waited < readyWithin; waited += 10 * time.Millisecond {
		text, err := os.ReadFile(filepath.Join(folder, one.Errors))
		if err != nil {
			return err
		}
		if strings.Contains(string(text), one.Ready) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	text, err := os.ReadFile(filepath.Join(folder, one.Errors))
	return errors.Join(fmt.Errorf("%s: not ready within %s: %s", one.Name, readyWithin, strings.TrimSpace(string(text))), err)
}

func launch(wanted process, folder string, startNs int64) (*running, error) {
	argv := atTimes(wanted.Argv, startNs)
	command := exec.Command(argv[0], argv[1:]...)
	command.Dir = folder
	output, err := appendTo(folder, wanted.Output)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command.Stdout, command.Stderr = output, output
	if wanted.Errors != "" {
		errors, err := appendTo(folder, wanted.Errors)
		if err != nil {
			return nil, err
		}
		defer errors.Close()
		command.Stderr = errors
	}
	started := &running{process: wanted, command: command, ended: make(chan error, 1)}
	started.result = &processResult{Name: wanted.Name, LaunchedNs: realtimeNs()}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", wanted.Name, err)
	}
	go func() {
		err := command.Wait()
		started.result.EndedNs = realtimeNs()
		started.ended <- err
	}()
	return started, nil
}

// finish ends a process as it wants to be ended, and at the latest by killing it.
func (one *running) finish() error {
	switch one.Stop {
	case "interrupt":
		_ = one.command.Process.Signal(os.Interrupt) // it may have ended by itself, which its status tells
	case "terminate":
		_ = one.command.Process.Signal(syscall.SIGTERM)
	}
	var err error
	select {
	case err = <-one.ended:
	case <-time.After(killAfter):
		_ = one.command.Process.Kill()
		err = fmt.Errorf("did not end within %s: %w", killAfter, <-one.ended)
	}
	one.result.Status = "ok"
	if err != nil {
		one.result.Status = err.Error()
		if !one.MayErr && one.Stop == "wait" {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
	}
	return nil
}

func (one *command) run(folder string) error {
	command := exec.Command(one.Argv[0], one.Argv[1:]...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	if one.Output != "" {
		file, failed := appendTo(folder, one.Output)
		if failed != nil {
			return failed
		}
		defer file.Close()
		if _, failed := file.Write(output); failed != nil {
			return failed
		}
	}
	if err != nil && !one.MayErr {
		return fmt.Errorf("%s: %w: %s", strings.Join(one.Argv, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

func appendTo(folder, name string) (*os.File, error) {
	path := os.DevNull
	if name != "" {
		path = filepath.Join(folder, name)
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}

func kernelVersion() string {
	text, err := os.ReadFile("/proc/version")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
