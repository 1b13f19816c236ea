package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Folders of the guest: what the host puts into the initial file system, and where results are before they leave it.
const (
	jobFolder  = "/job"
	workFolder = "/tmp/runs"
	probeLog   = "/tmp/queue_bpftrace.txt"
)

const probeReadyWithin = 10 * time.Minute

// job is what one boot does.
type job struct {
	Modules    []string `json:"modules"`
	ProbeArgv  []string `json:"probe_argv"`  // writes the queue log to standard output; empty: no probe
	ProbeReady string   `json:"probe_ready"` // what begins the first line of a probe that is attached
	Runs       []string `json:"runs"`        // specifications, by file name
}

var mounts = []struct{ source, target, kind, data string }{
	{"proc", "/proc", "proc", ""},
	{"sysfs", "/sys", "sysfs", ""},
	{"devtmpfs", "/dev", "devtmpfs", ""},
	{"tmpfs", "/run", "tmpfs", ""},
	{"tmpfs", "/tmp", "tmpfs", "size=70%"},
	{"debugfs", "/sys/kernel/debug", "debugfs", ""},
	{"tracefs", "/sys/kernel/tracing", "tracefs", ""},
	{"bpf", "/sys/fs/bpf", "bpf", ""},
}

// bootedAsInit is the first process: it never returns to a kernel that would panic.
func bootedAsInit([]string) error {
	if err := bootedAndRan(); err != nil {
		fmt.Printf("TESTBED failed: %v\n", err)
	}
	syscall.Sync()
	return syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

func bootedAndRan() error {
	for _, one := range mounts {
		if err := os.MkdirAll(one.target, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(one.source, one.target, one.kind, 0, one.data); err != nil && one.target != "/sys/kernel/tracing" {
			return fmt.Errorf("mount %s: %w", one.target, err)
		}
	}
	os.Setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
	os.Setenv("HOME", "/root")
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(jobFolder, "job.json"))
	if err != nil {
		return err
	}
	var wanted job
	if err := json.Unmarshal(text, &wanted); err != nil {
		return err
	}
	for _, module := range wanted.Modules {
		if output, err := exec.Command("modprobe", module).CombinedOutput(); err != nil {
			return fmt.Errorf("modprobe %s: %s", module, strings.TrimSpace(string(output)))
		}
	}
	results, err := openWindow()
	if err != nil {
		return err
	}
	if err := exec.Command("ip", "link", "set", "lo", "up").Run(); err != nil {
		return err
	}
	header, stopProbe, err := startProbe(&wanted)
	if err != nil {
		return err
	}
	fmt.Printf("TESTBED ready after %.1f s\n", float64(monotonicNs())/1e9)
	for _, name := range wanted.Runs {
		if err := runAndExport(filepath.Join(jobFolder, name), header, results); err != nil {
			return err
		}
	}
	return stopProbe()
}

// startProbe returns what its log begins with, and how to stop it.
func startProbe(wanted *job) ([]byte, func() error, error) {
	if len(wanted.ProbeArgv) == 0 {
		return nil, func() error { return nil }, nil
	}
	log, err := os.Create(probeLog)
	if err != nil {
		return nil, nil, err
	}
	var complaints bytes.Buffer
	probe := exec.Command(wanted.ProbeArgv[0], wanted.ProbeArgv[1:]...)
	probe.Stdout, probe.Stderr = log, &complaints
	// Events between two readings of the perf buffers wait there: a burst of the fastest link must fit.
	probe.Env = append(os.Environ(), "BPFTRACE_PERF_RB_PAGES=512")
	if err := probe.Start(); err != nil {
		return nil, nil, fmt.Errorf("probe: %w", err)
	}
	for waited := time.Duration(0); waited < probeReadyWithin; waited += 100 * time.Millisecond {
		text, err := os.ReadFile(probeLog)
		if err != nil {
			return nil, nil, err
		}
		if at := bytes.Index(text, []byte(wanted.ProbeReady)); at >= 0 {
			if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
				stop := func() error {
					if err := probe.Process.Signal(os.Interrupt); err != nil {
						return err
					}
					return probe.Wait()
				}
				return text[:at+end+1], stop, nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, nil, fmt.Errorf("probe not attached after %s: %s", probeReadyWithin, complaints.String())
}

func runAndExport(specificationPath string, header []byte, results *window) error {
	wanted, err := readSpecification(specificationPath)
	if err != nil {
		return err
	}
	folder := filepath.Join(workFolder, wanted.RunID)
	var offset int64
	if header != nil {
		if offset, err = sizeOf(probeLog); err != nil {
			return err
		}
	}
	came, err := carryOut(wanted, folder)
	if err != nil {
		return err
	}
	if header != nil {
		time.Sleep(500 * time.Millisecond) // bpftrace reads its buffers when it is woken, and writes a line at a time
		if err := sliceOfLog(filepath.Join(folder, "queue_bpftrace.txt"), header, offset); err != nil {
			return err
		}
	}
	if err := writeResult(came, folder); err != nil {
		return err
	}
	if err := results.add(folder); err != nil {
		return err
	}
	fmt.Printf("TESTBED run %s %d failures\n", wanted.RunID, len(came.Failures))
	return os.RemoveAll(folder)
}

func sizeOf(path string) (int64, error) {
	information, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return information.Size(), nil
}

// sliceOfLog writes what the probe printed since offset, after its header.
func sliceOfLog(path string, header []byte, offset int64) error {
	log, err := os.Open(probeLog)
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := log.Seek(max(offset, int64(len(header))), io.SeekStart); err != nil {
		return err
	}
	slice, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := slice.Write(header); err != nil {
		return err
	}
	if _, err := io.Copy(slice, log); err != nil {
		return err
	}
	return slice.Close()
}
