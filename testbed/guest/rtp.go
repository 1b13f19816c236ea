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

// rtpSender sends the packets of one synchronisation source, each at its time, and counts them.
type rtpSender struct {
	rtpSent
	connection  *net.UDPConn
	payloadType uint8
	ssrc        uint32
	sequence    uint16
	packet      []byte
}

// newRTPSender connects; the first packet is due at startNs, or now when that has passed.
func newRTPSender(from, to netip.AddrPort, payloadType uint8, ssrc uint32, sequence uint16, startNs int64) (*rtpSender, error) {
	connection, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(from), net.UDPAddrFromAddrPort(to))
	if err != nil {
		return nil, err
	}
	one := &rtpSender{connection: connection, payloadType: payloadType, ssrc: ssrc, sequence: sequence}
	one.packet = make([]byte, rtpHeaderBytes)
	one.StartNs = max(startNs, realtimeNs())
	return one, nil
}

// sendAt sends a packet when it is due.
func (one *rtpSender) sendAt(dueNs int64, timestamp uint32, marker bool, payload []byte) {
	header := one.packet[:rtpHeaderBytes]
	header[0], header[1] = 0x80, one.payloadType
	if marker {
		header[1] |= 0x80
	}
	binary.BigEndian.PutUint16(header[2:], one.sequence)
	binary.BigEndian.PutUint32(header[4:], timestamp)
	binary.BigEndian.PutUint32(header[8:], one.ssrc)
	one.packet = append(header, payload...)
	one.sequence++
	sleepUntil(dueNs)
	// A full socket buffer is loss before the queue; it is counted, since the check of captures would not see it.
	if _, err := one.connection.Write(one.packet); err != nil {
		one.Refused++
		return
	}
	one.Packets++
	one.RTPBytes += int64(len(one.packet))
}

// end closes the connection and returns what was sent.
func (one *rtpSender) end() (rtpSent, error) {
	one.EndNs = realtimeNs()
	return one.rtpSent, one.connection.Close()
}

func (stream *rtpStream) send() (rtpSent, error) {
	sequence := uint16(stream.generator.Uint32())
	timestamp := stream.generator.Uint32()
	media := make([]byte, stream.maxPayload)
	for index := range media {
		media[index] = byte(stream.generator.Uint32())
	}
	sender, err := newRTPSender(stream.from, stream.to, stream.payloadType, stream.ssrc, sequence, stream.startNs)
	if err != nil {
		return rtpSent{}, err
	}
	next := sender.StartNs
	owed := 0.0
	for at := int64(0); at < stream.durationNs; at += stream.frameNs {
		next = max(next, sender.StartNs+at)
		owed += stream.frameBytes
		left := int(owed)
		owed -= float64(left)
		packets := (left + stream.maxPayload - 1) / stream.maxPayload
		for index := range packets {
			size := left / (packets - index)
			left -= size
			marker := stream.marksFrames && index == packets-1 || !stream.marksFrames && at == 0 && index == 0
			sender.sendAt(next, timestamp+uint32(at*int64(stream.clockHz)/1_000_000_000), marker, media[:size])
			next += stream.paceNs
		}
		sender.Frames++
	}
	return sender.end()
}

func rtpSendCommand(arguments []string) error {
	flags := flag.NewFlagSet("rtp-send", flag.ContinueOnError)
	var from, to netip.AddrPort
	flags.TextVar(&from, "from", netip.AddrPort{}, "ADDRESS:PORT to send from")
	flags.TextVar(&to, "to", netip.AddrPort{}, "ADDRESS:PORT to send to")
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
	if *rate <= 0 || *frameMs <= 0 || *maxPayload <= 0 {
		return errors.New("rate, frame time and payload must be above 0")
	}
	stream := rtpStream{
		from: from, to: to, payloadType: uint8(*payloadType), clockHz: uint32(*clock),
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
	var at netip.AddrPort
	flags.TextVar(&at, "at", netip.AddrPort{}, "ADDRESS:PORT to receive at")
	end := flags.Int64("end-ns", 0, "when to stop, ns since the epoch")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	connection, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
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
