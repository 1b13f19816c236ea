package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
)

const (
	// What the kernel runs lies beside this programme.
	queueEventsFile = "queue_events.bpf.o"
	// The kernel wakes the reader only when much waits.
	queueReadEvery = 100 * time.Millisecond
)

// queueRecordCommand records the events of queues in the binary form, until it is interrupted.
func queueRecordCommand(arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("expected HANDLE FILE; HANDLE is that of the root discipline as a number: 1: is 0x10000")
	}
	handle, err := strconv.ParseUint(arguments[0], 0, 32)
	if err != nil {
		return fmt.Errorf("HANDLE: %w", err)
	}
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	probe, err := attachQueueProbe(uint32(handle))
	if err != nil {
		return err
	}
	defer probe.close()
	file, err := os.Create(arguments[1])
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<16)
	stream, err := newQueueStream(buffered, clockOffsetNs())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stderr, "recording"); err != nil {
		return err
	}
	if err := probe.record(stream, stopped); err != nil {
		return errors.Join(err, stream.fail(), buffered.Flush(), file.Close())
	}
	return errors.Join(buffered.Flush(), file.Close())
}

// queueProbe is the kernel's part, attached.
type queueProbe struct {
	collection *ebpf.Collection
	links      []link.Link
	reader     *ringbuf.Reader
	sample     ringbuf.Record
	event      queueEvent
}

func attachQueueProbe(handle uint32) (*queueProbe, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, err
	}
	programme, err := os.Executable()
	if err != nil {
		return nil, err
	}
	described, err := ebpf.LoadCollectionSpec(filepath.Join(filepath.Dir(programme), queueEventsFile))
	if err != nil {
		return nil, err
	}
	if err := described.Variables["root_handle"].Set(handle); err != nil {
		return nil, err
	}
	probe := &queueProbe{}
	if probe.collection, err = ebpf.NewCollection(described); err != nil {
		return nil, fmt.Errorf("%s: %w", queueEventsFile, err)
	}
	if probe.reader, err = ringbuf.NewReader(probe.collection.Maps["events"]); err != nil {
		probe.close()
		return nil, err
	}
	for _, one := range []struct{ tracepoint, name string }{
		{"qdisc_enqueue", "enqueued"}, {"qdisc_dequeue", "dequeued"}, {"kfree_skb", "freed"},
	} {
		attached, err := link.AttachRawTracepoint(link.RawTracepointOptions{
			Name: one.tracepoint, Program: probe.collection.Programs[one.name],
		})
		if err != nil {
			probe.close()
			return nil, fmt.Errorf("tracepoint %s: %w", one.tracepoint, err)
		}
		probe.links = append(probe.links, attached)
	}
	return probe, nil
}

func (probe *queueProbe) detach() error {
	var failed error
	for _, one := range probe.links {
		failed = errors.Join(failed, one.Close())
	}
	probe.links = nil
	return failed
}

func (probe *queueProbe) close() {
	_ = probe.detach() // the process ends, and with it what it holds
	if probe.reader != nil {
		_ = probe.reader.Close()
	}
	probe.collection.Close()
}

// record writes events until one comes on stopped, and then those that wait.
func (probe *queueProbe) record(stream *queueStream, stopped <-chan os.Signal) error {
	for len(stopped) == 0 {
		if err := probe.read(stream, stopped); err != nil {
			return err
		}
	}
	if err := probe.detach(); err != nil {
		return err
	}
	// The first may end where the reading before it did.
	for range 2 {
		if err := probe.read(stream, nil); err != nil {
			return err
		}
	}
	lost, err := probe.lost()
	if err != nil {
		return err
	}
	return stream.close(lost)
}

// lost is how many events found the ring full, or came while the kernel's part was at work on another of the same processor.
func (probe *queueProbe) lost() (uint64, error) {
	var lost uint64
	if err := probe.collection.Variables["lost"].Get(&lost); err != nil {
		return 0, err
	}
	for _, one := range probe.collection.Programs {
		stated, err := one.Stats()
		if err != nil {
			return 0, err
		}
		lost += stated.RecursionMisses
	}
	return lost, nil
}

// read writes the events of a tenth of a second, or fewer where one comes on stopped.
func (probe *queueProbe) read(stream *queueStream, stopped <-chan os.Signal) error {
	probe.reader.SetDeadline(time.Now().Add(queueReadEvery))
	for len(stopped) == 0 {
		err := probe.reader.ReadInto(&probe.sample)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := binary.Decode(probe.sample.RawSample, binary.LittleEndian, &probe.event); err != nil {
			return err
		}
		if err := stream.add(&probe.event); err != nil {
			return err
		}
	}
	return nil
}
