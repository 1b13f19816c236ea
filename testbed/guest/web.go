package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Exit codes of curl, which readers of page loads know.
const (
	loadOk       = 0
	loadTimedOut = 28
	loadFailed   = 56
)

// webServeCommand answers GET /bytes/N with N bytes, over HTTP/1.1 with persistent connections.
func webServeCommand(arguments []string) error {
	flags := flag.NewFlagSet("web-serve", flag.ContinueOnError)
	at := flags.String("at", "", "ADDRESS:PORT to serve at")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", *at)
	if err != nil {
		return err
	}
	return http.Serve(listener, http.HandlerFunc(serveBytes))
}

func serveBytes(answer http.ResponseWriter, request *http.Request) {
	size, err := strconv.ParseInt(strings.TrimPrefix(request.URL.Path, "/bytes/"), 10, 64)
	if err != nil || size < 0 {
		http.Error(answer, "expected /bytes/N", http.StatusNotFound)
		return
	}
	answer.Header().Set("Content-Type", "application/octet-stream")
	answer.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	_, _ = io.CopyN(answer, filler{}, size) // a client that goes away is no fault of the server's
}

// filler is an endless source of bytes that do not shrink when compressed as a run of zeros would.
type filler struct{}

func (filler) Read(into []byte) (int, error) {
	for index := range into {
		into[index] = byte(index*167 + index>>8*13)
	}
	return len(into), nil
}

// pageLoad is one load of a page, in the names of curl's write-out where it has one.
type pageLoad struct {
	Load         int     `json:"load"`
	StartNs      int64   `json:"start_ns"`
	TimeTotalS   float64 `json:"time_total"`
	TimeConnectS float64 `json:"time_connect"`
	NumConnects  int     `json:"num_connects"`
	SizeDownload int64   `json:"size_download"`
	LocalPorts   []int   `json:"local_ports"`
	ExitCode     int     `json:"exitcode"`
	ErrorMessage string  `json:"errormsg,omitempty"`
}

// transportFrom carries requests from an address, over so many persistent connections at most; opened hears the local port
// of each that it opens.
func transportFrom(from netip.Addr, connections int, opened func(port int)) *http.Transport {
	return &http.Transport{
		DisableCompression:  true,
		MaxConnsPerHost:     connections,
		MaxIdleConnsPerHost: connections,
		DialContext: func(scope context.Context, _, address string) (net.Conn, error) {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}}
			connection, err := dialer.DialContext(scope, "tcp4", address)
			if err == nil {
				opened(connection.LocalAddr().(*net.TCPAddr).Port)
			}
			return connection, err
		},
	}
}

// browser loads pages of one document and the objects that it names.
type browser struct {
	from     netip.Addr
	server   string
	objects  []int64 // the document first
	parallel int     // connections at most
}

// load fetches the document, then its objects: one after the other over one connection, or side by side over several.
func (one *browser) load(number int, deadline time.Time) pageLoad {
	found := pageLoad{Load: number, LocalPorts: []int{}}
	begun := time.Now()
	found.StartNs = begun.UnixNano()
	var lock sync.Mutex
	transport := transportFrom(one.from, one.parallel, func(port int) {
		lock.Lock()
		defer lock.Unlock()
		if found.NumConnects == 0 {
			found.TimeConnectS = time.Since(begun).Seconds()
		}
		found.NumConnects++
		found.LocalPorts = append(found.LocalPorts, port)
	})
	defer transport.CloseIdleConnections()
	scope, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	client := &http.Client{Transport: transport}
	get := func(size int64) error {
		received, err := fetch(scope, client, one.server, size)
		lock.Lock()
		found.SizeDownload += received
		lock.Unlock()
		return err
	}
	err := get(one.objects[0])
	if err == nil {
		err = eachOf(one.objects[1:], one.parallel, get)
	}
	found.TimeTotalS = time.Since(begun).Seconds()
	switch {
	case err == nil:
		found.ExitCode = loadOk
	case errors.Is(err, context.DeadlineExceeded):
		found.ExitCode, found.ErrorMessage = loadTimedOut, "the run ended before the page was loaded"
	default:
		found.ExitCode, found.ErrorMessage = loadFailed, err.Error()
	}
	return found
}

// eachOf calls get for each size, at most so many at a time, and returns the first error.
func eachOf(sizes []int64, parallel int, get func(int64) error) error {
	failures := make(chan error, len(sizes))
	slots := make(chan struct{}, parallel)
	for _, size := range sizes {
		slots <- struct{}{}
		go func() {
			failures <- get(size)
			<-slots
		}()
	}
	var first error
	for range sizes {
		if err := <-failures; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// fetch gets so many bytes from a server that answers as web-serve does.
func fetch(scope context.Context, client *http.Client, server string, size int64) (int64, error) {
	request, err := http.NewRequestWithContext(scope, http.MethodGet, fmt.Sprintf("http://%s/bytes/%d", server, size), nil)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	received, err := io.Copy(io.Discard, answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || received != size) {
		err = fmt.Errorf("%s and %d bytes, expected %d", answer.Status, received, size)
	}
	return received, err
}

type webSummary struct {
	Loads    int   `json:"loads"`
	Failed   int   `json:"failed"`
	Measured int   `json:"measured"`
	Ports    []int `json:"local_ports"`
}

// webLoadCommand loads a page again and again. Loads that begin while the run is measured go to a file of their own.
func webLoadCommand(arguments []string) error {
	flags := flag.NewFlagSet("web-load", flag.ContinueOnError)
	var from netip.Addr
	flags.TextVar(&from, "from", netip.Addr{}, "ADDRESS to load from")
	server := flags.String("server", "", "ADDRESS:PORT of the server")
	page := flags.String("page-bytes", "", "sizes of the document and its objects, bytes, with commas between")
	parallel := flags.Int("parallel", 1, "connections at most; with 1, all objects come over one, one after the other")
	pause := flags.Float64("pause-s", 2.5, "time between the end of a load and the next, s")
	start := flags.Int64("start-ns", 0, "time of the first load, ns since the epoch")
	measureFrom := flags.Int64("measure-from-ns", 0, "loads that begin at this time or later are measured")
	measureUntil := flags.Int64("measure-until-ns", 0, "loads that begin before this time are measured")
	end := flags.Int64("end-ns", 0, "when to stop, ns since the epoch")
	log := flags.String("log", "page_loads.jsonl", "file of the loads that are measured")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *parallel < 1 || *pause < 0 {
		return errors.New("connections must be 1 or more, and the pause 0 or more")
	}
	client := browser{from: from, server: *server, parallel: *parallel}
	for _, word := range strings.Split(*page, ",") {
		size, err := strconv.ParseInt(word, 10, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("size %q of an object; expected bytes", word)
		}
		client.objects = append(client.objects, size)
	}
	write, closed, err := jsonLines(*log)
	if err != nil {
		return err
	}
	summary := webSummary{Ports: []int{}}
	for next := *start; next < *end; next = realtimeNs() + int64(*pause*1e9) {
		sleepUntil(next)
		load := client.load(summary.Loads, time.Unix(0, *end))
		summary.Loads++
		if load.ExitCode != loadOk {
			summary.Failed++
		}
		summary.Ports = append(summary.Ports, load.LocalPorts...)
		if load.StartNs < *measureFrom || load.StartNs >= *measureUntil {
			continue
		}
		summary.Measured++
		if err := write(load); err != nil {
			return err
		}
	}
	slices.Sort(summary.Ports)
	summary.Ports = slices.Compact(summary.Ports)
	if err := closed(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(summary)
}
