package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"time"
)

const rtpHeaderBytes = 12

// rtpStream is a media source of constant rate: frames at equal distances, each in packets of at most MaxPayload bytes.
type rtpStream struct {
	from, to    netip.AddrPort
	payloadType uint8
	clockHz     uint32
	frameNs     int64 // time between frames
	frameBytes  float64
	maxPayload  int
	paceNs      int64 // least time between packets of a frame; 0: back to back
	ssrc        uint32
	startNs     int64
	durationNs  int64
	generator   *rand.Rand
	marksFrames bool // the marker ends each frame (video); else it begins the only talk spurt (voice)
}

type rtpSent struct {
	Packets  int64 `json:"packets"`
	RTPBytes int64 `json:"rtp_bytes"`
	Frames   int64 `json:"frames"`
	StartNs  int64 `json:"start_ns"`
	EndNs    int64 `json:"end_ns"`
	Refused  int64 `json:"refused_by_kernel"`
}

func (stream *rtpStream) send() (rtpSent, error) {
	var sent rtpSent
	connection, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(stream.from), net.UDPAddrFromAddrPort(stream.to))
	if err != nil {
		return sent, err
	}
	defer connection.Close()
	sequence := uint16(stream.generator.Uint32())
	timestamp := stream.generator.Uint32()
	packet := make([]byte, rtpHeaderBytes+stream.maxPayload)
	for index := range packet[rtpHeaderBytes:] {
		packet[rtpHeaderBytes+index] = byte(stream.generator.Uint32())
	}
	sent.StartNs = max(stream.startNs, realtimeNs())
	next := sent.StartNs
	owed := 0.0
	for at := int64(0); at < stream.durationNs; at += stream.frameNs {
		next = max(next, sent.StartNs+at)
		owed += stream.frameBytes
		left := int(owed)
		owed -= float64(left)
		packets := (left + stream.maxPayload - 1) / stream.maxPayload
		for index := range packets {
			size := left / (packets - index)
			left -= size
			packet[0] = 0x80
			packet[1] = stream.payloadType
			if stream.marksFrames && index == packets-1 || !stream.marksFrames && at == 0 && index == 0 {
				packet[1] |= 0x80
			}
			binary.BigEndian.PutUint16(packet[2:], sequence)
			binary.BigEndian.PutUint32(packet[4:], timestamp+uint32(at*int64(stream.clockHz)/1_000_000_000))
			binary.BigEndian.PutUint32(packet[8:], stream.ssrc)
			sequence++
			sleepUntil(next)
			// A full socket buffer is loss before the queue; it is counted, since the check of captures would not see it.
			if _, err := connection.Write(packet[:rtpHeaderBytes+size]); err != nil {
				sent.Refused++
			} else {
				sent.Packets++
				sent.RTPBytes += int64(rtpHeaderBytes + size)
			}
			next += stream.paceNs
		}
		sent.Frames++
	}
	sent.EndNs = realtimeNs()
	return sent, nil
}

func rtpSendCommand(arguments []string) error {
	flags := flag.NewFlagSet("rtp-send", flag.ContinueOnError)
	from := flags.String("from", "", "ADDRESS:PORT to send from")
	to := flags.String("to", "", "ADDRESS:PORT to send to")
	rate := flags.Float64("media-bps", 0, "rate of the media, without headers, bit/s")
	frameMs := flags.Float64("frame-ms", 20, "time between frames, ms")
	clock := flags.Uint("clock-hz", 8000, "RTP clock, Hz")
	payloadType := flags.Uint("payload-type", 0, "RTP payload type")
	maxPayload := flags.Int("max-payload", 1188, "largest media payload of a packet, bytes")
	pace := flags.Float64("pace", 0, "packets of a frame go out at this many times the rate of the media; 0: at once")
	video := flags.Bool("video", false, "the marker ends each frame")
	ssrc := flags.Uint("ssrc", 1, "synchronisation source")
	seed := flags.Uint64("seed", 1, "seed of sequence number, timestamp and payload")
	start := flags.Int64("start-ns", 0, "time of the first packet, ns since the epoch")
	duration := flags.Float64("duration-s", 10, "how long to send, s")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	source, err := netip.ParseAddrPort(*from)
	if err != nil {
		return err
	}
	destination, err := netip.ParseAddrPort(*to)
	if err != nil {
		return err
	}
	if *rate <= 0 || *frameMs <= 0 || *maxPayload <= 0 {
		return errors.New("rate, frame time and payload must be above 0")
	}
	stream := rtpStream{
		from: source, to: destination, payloadType: uint8(*payloadType), clockHz: uint32(*clock),
		frameNs: int64(*frameMs * 1e6), frameBytes: *rate / 8 * *frameMs / 1000, maxPayload: *maxPayload,
		ssrc: uint32(*ssrc), startNs: *start, durationNs: int64(*duration * 1e9),
		generator: rand.New(rand.NewPCG(*seed, uint64(*ssrc))), marksFrames: *video,
	}
	if *pace > 0 {
		stream.paceNs = int64(float64(*maxPayload+rtpHeaderBytes) * 8 / (*pace * *rate) * 1e9)
	}
	sent, err := stream.send()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(sent)
}

// rtpReceiveCommand takes in packets until a time, so that the kernel answers none of them with an ICMP error.
func rtpReceiveCommand(arguments []string) error {
	flags := flag.NewFlagSet("rtp-receive", flag.ContinueOnError)
	at := flags.String("at", "", "ADDRESS:PORT to receive at")
	end := flags.Int64("end-ns", 0, "when to stop, ns since the epoch")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	address, err := netip.ParseAddrPort(*at)
	if err != nil {
		return err
	}
	connection, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(address))
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetReadDeadline(time.Unix(0, *end)); err != nil {
		return err
	}
	var packets, octets int64
	packet := make([]byte, 65536)
	for {
		size, err := connection.Read(packet)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return err
		}
		packets++
		octets += int64(size)
	}
	_, err = fmt.Printf("{\"packets\":%d,\"rtp_bytes\":%d}\n", packets, octets)
	return err
}
