package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// What a client asks for first: the number of bytes, and whether the server or the client sends them.
	requestBytes = 9
	fromServer   = 1
	fromClient   = 0
	// A flow without end asks for more than any run carries.
	withoutEnd = math.MaxInt64
)

// withCongestionControl returns what sets a socket's congestion control before it connects or listens.
func withCongestionControl(name string) func(network, address string, raw syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) error {
		var failed error
		if name == "" {
			return nil
		}
		err := raw.Control(func(descriptor uintptr) {
			failed = syscall.SetsockoptString(int(descriptor), syscall.IPPROTO_TCP, syscall.TCP_CONGESTION, name)
		})
		return errors.Join(err, failed)
	}
}

// backgroundServeCommand sends or takes what its clients ask for.
func backgroundServeCommand(arguments []string) error {
	flags := flag.NewFlagSet("background-serve", flag.ContinueOnError)
	at := flags.String("at", "", "ADDRESS:PORT to serve at")
	control := flags.String("congestion-control", "", "congestion control of what is sent; empty: the kernel's")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	configured := net.ListenConfig{Control: withCongestionControl(*control)}
	listener, err := configured.Listen(context.Background(), "tcp4", *at)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go serveBackground(connection)
	}
}

func serveBackground(connection net.Conn) {
	defer connection.Close()
	var request [requestBytes]byte
	if _, err := io.ReadFull(connection, request[:]); err != nil {
		return // a client that goes away before it asks wants nothing
	}
	size := int64(binary.BigEndian.Uint64(request[1:]))
	if request[0] == fromServer {
		_, _ = io.CopyN(connection, filler{}, size) // the client counts what it got
		return
	}
	_, _ = io.CopyN(io.Discard, connection, size)
}

// workload is sessions of one direction: each opens flows one after the other, or one flow without end.
type workload struct {
	from              netip.Addr
	server            string
	upload            bool
	sessions          int
	long              bool
	interarrivalNs    float64 // mean of an exponential distribution, from the start of a flow to that of the next
	shape, scale      float64 // of a Weibull distribution of sizes, bytes
	seed              uint64
	startNs, endNs    int64
	staggerNs         int64 // sessions begin within this time, evenly
	congestionControl string
}

type backgroundFlow struct {
	Session   int   `json:"session"`
	Port      int   `json:"local_port"`
	StartNs   int64 `json:"start_ns"`
	EndNs     int64 `json:"end_ns"`
	Requested int64 `json:"requested_bytes"` // -1: without end
	Bytes     int64 `json:"bytes"`
	Whole     bool  `json:"whole"`
}

type backgroundSummary struct {
	Flows  []backgroundFlow `json:"flows"`
	Failed int              `json:"failed"`
	Errors []string         `json:"errors"`
}

// weibull draws a value by the inverse of the distribution function; uniform is in [0, 1).
func weibull(uniform, shape, scale float64) float64 {
	return scale * math.Pow(-math.Log1p(-uniform), 1/shape)
}

// run carries out the sessions until the end. A session of short flows does not wait for one to end before the next begins.
func (one *workload) run() backgroundSummary {
	found := backgroundSummary{Flows: []backgroundFlow{}, Errors: []string{}}
	var lock sync.Mutex
	var waiting sync.WaitGroup
	carry := func(session int, size int64) {
		defer waiting.Done()
		flow, err := one.transfer(size)
		flow.Session = session
		lock.Lock()
		defer lock.Unlock()
		if err != nil {
			found.Failed++
			if len(found.Errors) < 10 {
				found.Errors = append(found.Errors, err.Error())
			}
		}
		found.Flows = append(found.Flows, flow)
	}
	var sessions sync.WaitGroup
	for session := range one.sessions {
		sessions.Add(1)
		go func() {
			defer sessions.Done()
			generator := rand.New(rand.NewPCG(one.seed, uint64(session)))
			next := one.startNs + one.staggerNs*int64(session)/int64(one.sessions)
			if one.long {
				sleepUntil(next)
				waiting.Add(1)
				carry(session, withoutEnd)
				return
			}
			for next += int64(generator.ExpFloat64() * one.interarrivalNs); next < one.endNs; {
				sleepUntil(next)
				size := max(1, int64(math.Round(weibull(generator.Float64(), one.shape, one.scale))))
				waiting.Add(1)
				go carry(session, size)
				next += int64(generator.ExpFloat64() * one.interarrivalNs)
			}
		}()
	}
	sessions.Wait()
	waiting.Wait()
	slices.SortFunc(found.Flows, func(left, right backgroundFlow) int {
		if left.StartNs != right.StartNs {
			return int(left.StartNs - right.StartNs)
		}
		return left.Port - right.Port
	})
	return found
}

// transfer carries one flow, to its size or to the end of the run.
func (one *workload) transfer(size int64) (backgroundFlow, error) {
	flow := backgroundFlow{StartNs: realtimeNs(), Requested: size}
	if size == withoutEnd {
		flow.Requested = -1
	}
	end := time.Unix(0, one.endNs)
	dialer := net.Dialer{
		LocalAddr: &net.TCPAddr{IP: one.from.AsSlice()}, Deadline: end, Control: withCongestionControl(one.congestionControl),
	}
	connection, err := dialer.Dial("tcp4", one.server)
	if err != nil {
		flow.EndNs = realtimeNs()
		if isTimeout(err) {
			err = nil // the run ended first, which whole tells
		}
		return flow, err
	}
	defer connection.Close()
	flow.Port = connection.LocalAddr().(*net.TCPAddr).Port
	if err := connection.SetDeadline(end); err != nil {
		return flow, err
	}
	var request [requestBytes]byte
	if !one.upload {
		request[0] = fromServer
	}
	binary.BigEndian.PutUint64(request[1:], uint64(size))
	if _, err = connection.Write(request[:]); err == nil {
		flow.Bytes, err = one.move(connection, size)
	}
	flow.EndNs = realtimeNs()
	flow.Whole = err == nil && flow.Bytes == size
	if !flow.Whole {
		// The flow is cut off: what waits in its socket is not sent after the end, and the other end hears at once.
		if reset := connection.(*net.TCPConn).SetLinger(0); reset != nil && err == nil {
			err = reset
		}
	}
	if isTimeout(err) {
		err = nil
	}
	return flow, err
}

func (one *workload) move(connection net.Conn, size int64) (int64, error) {
	if !one.upload {
		return io.CopyN(io.Discard, connection, size)
	}
	moved, err := io.CopyN(connection, filler{}, size)
	if err != nil {
		return moved, err
	}
	// The server closes when it has all of it; what is only in the socket's buffer has not arrived.
	if _, err := io.Copy(io.Discard, connection); err != nil {
		return moved, err
	}
	return moved, nil
}

func isTimeout(err error) bool {
	var timed net.Error
	return errors.As(err, &timed) && timed.Timeout()
}

func backgroundCommand(arguments []string) error {
	flags := flag.NewFlagSet("background", flag.ContinueOnError)
	var one workload
	flags.TextVar(&one.from, "from", netip.Addr{}, "ADDRESS to connect from")
	flags.StringVar(&one.server, "server", "", "ADDRESS:PORT of background-serve")
	flags.BoolVar(&one.upload, "upload", false, "the client sends the data")
	flags.IntVar(&one.sessions, "sessions", 1, "sessions side by side")
	flags.BoolVar(&one.long, "long", false, "one flow without end a session, instead of short ones")
	interarrival := flags.Float64("interarrival-s", 2, "mean time from a short flow of a session to its next, s (exponential)")
	flags.Float64Var(&one.shape, "shape", 0.35, "of the sizes of short flows (Weibull)")
	flags.Float64Var(&one.scale, "scale-bytes", 10039, "of the sizes of short flows (Weibull), bytes")
	flags.Uint64Var(&one.seed, "seed", 1, "seed of times and sizes")
	flags.Int64Var(&one.startNs, "start-ns", 0, "when sessions begin, ns since the epoch")
	flags.Int64Var(&one.endNs, "end-ns", 0, "when all flows end, ns since the epoch")
	stagger := flags.Float64("stagger-s", 1, "sessions begin evenly within this time, s")
	flags.StringVar(&one.congestionControl, "congestion-control", "", "of what the client sends; empty: the kernel's")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if one.sessions < 1 || *interarrival <= 0 || one.shape <= 0 || one.scale <= 0 || *stagger < 0 {
		return errors.New("sessions, times and parameters of distributions must be above 0")
	}
	one.interarrivalNs, one.staggerNs = *interarrival*1e9, int64(*stagger*1e9)
	found := one.run()
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		return err
	}
	if found.Failed > 0 {
		return errors.New(found.Errors[0])
	}
	return nil
}
