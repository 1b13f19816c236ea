package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// Segments over which throughput is averaged, and the share of it that a segment may ask for.
	segmentsRemembered = 3
	safeShare          = 0.8
)

// player streams segments over one persistent connection and plays them from a buffer.
//
// It asks for the highest rate below safeShare of the harmonic mean of the last segments' throughput, goes up by one rate
// at a time, and to the lowest while less than a segment is buffered. Playback begins, and goes on after a stall, with
// startSegments in the buffer.
type player struct {
	ladderBps     []int64 // ascending
	segmentS      float64
	bufferS       float64 // no segment is asked for that would not fit
	startSegments int

	bufferedS  float64
	playing    bool
	begun      bool
	at         time.Time // when bufferedS was right
	stalls     int
	stalledS   float64
	lastRate   int
	throughput []float64
}

// advance plays until a time; what the buffer does not have is a stall.
func (one *player) advance(now time.Time) {
	elapsedS := now.Sub(one.at).Seconds()
	one.at = now
	if !one.begun {
		return
	}
	if !one.playing {
		one.stalledS += elapsedS
		return
	}
	one.bufferedS -= elapsedS
	if one.bufferedS < 0 {
		one.stalls++
		one.stalledS -= one.bufferedS
		one.bufferedS, one.playing = 0, false
	}
}

// arrived adds a segment.
func (one *player) arrived(now time.Time, bytes int64, tookS float64) {
	one.advance(now)
	one.bufferedS += one.segmentS
	if one.bufferedS+1e-9 >= float64(one.startSegments)*one.segmentS {
		one.begun, one.playing = true, true
	}
	one.throughput = append(one.throughput, float64(bytes)*8/tookS)
	if len(one.throughput) > segmentsRemembered {
		one.throughput = one.throughput[1:]
	}
}

// wait is how long no segment is asked for, so that the next one fits into the buffer.
func (one *player) wait() time.Duration {
	return max(0, time.Duration((one.bufferedS+one.segmentS-one.bufferS)*1e9))
}

// next chooses the rate of the next segment.
func (one *player) next() int {
	if len(one.throughput) == 0 || one.playing && one.bufferedS < one.segmentS {
		one.lastRate = 0
		return 0
	}
	inverse := 0.0
	for _, bps := range one.throughput {
		inverse += 1 / bps
	}
	safe := safeShare * float64(len(one.throughput)) / inverse
	rate := 0
	for index, bps := range one.ladderBps {
		if float64(bps) <= safe {
			rate = index
		}
	}
	one.lastRate = min(rate, one.lastRate+1)
	return one.lastRate
}

type streamedSegment struct {
	Segment   int     `json:"segment"`
	StartNs   int64   `json:"start_ns"`
	EndNs     int64   `json:"end_ns"`
	RateBps   int64   `json:"rate_bps"`
	Bytes     int64   `json:"bytes"`
	BufferedS float64 `json:"buffered_s"`
	Playing   bool    `json:"playing"`
	Stalls    int     `json:"stalls"`
	StalledS  float64 `json:"stalled_s"`
}

// streamedEnd is the last line: what came after the last segment.
type streamedEnd struct {
	EndNs     int64   `json:"end_ns"`
	BufferedS float64 `json:"buffered_s"`
	Playing   bool    `json:"playing"`
	Stalls    int     `json:"stalls"`
	StalledS  float64 `json:"stalled_s"`
}

type streamingSummary struct {
	Segments    int     `json:"segments"`
	Unfinished  int     `json:"unfinished"`
	StartupS    float64 `json:"startup_s"` // -1: playback never began
	Stalls      int     `json:"stalls"`
	StalledS    float64 `json:"stalled_s"`
	MeanRateBps float64 `json:"mean_rate_bps"`
	Switches    int     `json:"switches"`
	Ports       []int   `json:"local_ports"`
}

// stream fetches segments until the deadline, and tells each and the end.
func (one *player) stream(from netip.Addr, server string, deadline time.Time, tell func(any) error) (streamingSummary, error) {
	found := streamingSummary{StartupS: -1, Ports: []int{}}
	transport := transportFrom(from, 1, func(port int) { found.Ports = append(found.Ports, port) })
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	scope, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	begun := time.Now()
	one.at = begun
	previous, rates := -1, 0.0
	for time.Now().Before(deadline) {
		one.advance(time.Now())
		if wait := one.wait(); wait > 0 {
			time.Sleep(min(wait, time.Until(deadline)))
			continue
		}
		rate := one.next()
		bytes := int64(float64(one.ladderBps[rate]) / 8 * one.segmentS)
		asked := time.Now()
		_, err := fetch(scope, client, server, bytes)
		now := time.Now()
		if err != nil {
			one.advance(now)
			found.Unfinished++
			if errors.Is(err, context.DeadlineExceeded) {
				break
			}
			return found, err
		}
		one.arrived(now, bytes, now.Sub(asked).Seconds())
		if one.begun && found.StartupS < 0 {
			found.StartupS = now.Sub(begun).Seconds()
		}
		if previous >= 0 && rate != previous {
			found.Switches++
		}
		previous = rate
		rates += float64(one.ladderBps[rate])
		segment := streamedSegment{
			found.Segments, asked.UnixNano(), now.UnixNano(), one.ladderBps[rate], bytes, one.bufferedS, one.playing,
			one.stalls, one.stalledS,
		}
		found.Segments++
		if err := tell(segment); err != nil {
			return found, err
		}
	}
	ended := time.Now()
	one.advance(ended)
	found.Stalls, found.StalledS = one.stalls, one.stalledS
	if found.Segments > 0 {
		found.MeanRateBps = rates / float64(found.Segments)
	}
	return found, tell(streamedEnd{ended.UnixNano(), one.bufferedS, one.playing, one.stalls, one.stalledS})
}

func streamingPlayCommand(arguments []string) error {
	flags := flag.NewFlagSet("streaming-play", flag.ContinueOnError)
	var from netip.Addr
	flags.TextVar(&from, "from", netip.Addr{}, "ADDRESS to stream from")
	server := flags.String("server", "", "ADDRESS:PORT of web-serve")
	ladder := flags.String("ladder-bps", "", "rates of the media, bit/s, ascending, with commas between")
	segment := flags.Float64("segment-s", 2, "length of a segment, s")
	buffer := flags.Float64("buffer-s", 12, "largest buffer, s")
	startSegments := flags.Int("start-segments", 1, "segments in the buffer with which playback begins")
	start := flags.Int64("start-ns", 0, "when to begin, ns since the epoch")
	end := flags.Int64("end-ns", 0, "when to stop, ns since the epoch")
	log := flags.String("log", "streaming.jsonl", "file of the segments")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	one := player{segmentS: *segment, bufferS: *buffer, startSegments: *startSegments}
	for _, word := range strings.Split(*ladder, ",") {
		bps, err := strconv.ParseInt(word, 10, 64)
		if err != nil || bps <= 0 || len(one.ladderBps) > 0 && bps <= one.ladderBps[len(one.ladderBps)-1] {
			return fmt.Errorf("rate %q of the ladder; expected bit/s, ascending", word)
		}
		one.ladderBps = append(one.ladderBps, bps)
	}
	if *segment <= 0 || *startSegments < 1 || *buffer < float64(*startSegments)**segment {
		return errors.New("the buffer must hold the segments with which playback begins")
	}
	write, closed, err := jsonLines(*log)
	if err != nil {
		return err
	}
	sleepUntil(*start)
	found, failed := one.stream(from, *server, time.Unix(0, *end), write)
	if err := errors.Join(failed, closed()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}
