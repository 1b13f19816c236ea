package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/cc"
	"github.com/pion/interceptor/pkg/gcc"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
)

const (
	videoPayloadType = 96
	videoClockHz     = 90_000
	framesPerSecond  = 30
	// What an encoder makes of the rate that congestion control allows, and how much frames differ in size.
	encoderShare = 0.9
	frameSpread  = 0.15
	keyFrame     = 3 // times the size of another frame
	signalEvery  = 20 * time.Millisecond
)

// call is one end of a WebRTC call of one video stream: ICE, DTLS, SRTP, transport-wide feedback, NACK, and on the side that
// sends Google congestion control.
type call struct {
	at        netip.AddrPort
	signal    string // the offer and the answer are files of this name
	deadline  time.Time
	estimated chan cc.BandwidthEstimator
	connected chan struct{}
	peer      *webrtc.PeerConnection
}

// open makes the peer connection; with a rate above 0, one that sends.
func (one *call) open(initialBps, minimumBps, maximumBps int) error {
	connection, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(one.at))
	if err != nil {
		return err
	}
	settings := webrtc.SettingEngine{}
	settings.SetICEUDPMux(webrtc.NewICEUDPMux(nil, connection))
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetIncludeLoopbackCandidate(one.at.Addr().IsLoopback())
	codecs := &webrtc.MediaEngine{}
	feedback := []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}, {Type: "ccm", Parameter: "fir"}}
	codec := webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: videoClockHz, RTCPFeedback: feedback},
		PayloadType:        videoPayloadType,
	}
	if err := codecs.RegisterCodec(codec, webrtc.RTPCodecTypeVideo); err != nil {
		return err
	}
	interceptors := &interceptor.Registry{}
	one.estimated = make(chan cc.BandwidthEstimator, 1)
	if initialBps > 0 {
		control, err := cc.NewInterceptor(func() (cc.BandwidthEstimator, error) {
			return gcc.NewSendSideBWE(
				gcc.SendSideBWEInitialBitrate(initialBps), gcc.SendSideBWEMinBitrate(minimumBps), gcc.SendSideBWEMaxBitrate(maximumBps),
			)
		})
		if err != nil {
			return err
		}
		control.OnNewPeerConnection(func(_ string, estimator cc.BandwidthEstimator) { one.estimated <- estimator })
		interceptors.Add(control)
		if err := webrtc.ConfigureTWCCHeaderExtensionSender(codecs, interceptors); err != nil {
			return err
		}
	}
	if err := webrtc.RegisterDefaultInterceptors(codecs, interceptors); err != nil {
		return err
	}
	api := webrtc.NewAPI(webrtc.WithMediaEngine(codecs), webrtc.WithInterceptorRegistry(interceptors), webrtc.WithSettingEngine(settings))
	one.peer, err = api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return err
	}
	one.connected = make(chan struct{})
	var told atomic.Bool
	one.peer.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected && !told.Swap(true) {
			close(one.connected)
		}
	})
	return nil
}

// describe sets the own description, waits for its candidates, and hands it to the other end.
func (one *call) describe(description webrtc.SessionDescription, name string) error {
	gathered := webrtc.GatheringCompletePromise(one.peer)
	if err := one.peer.SetLocalDescription(description); err != nil {
		return err
	}
	<-gathered
	text, err := json.Marshal(one.peer.LocalDescription())
	if err != nil {
		return err
	}
	path := one.signal + "." + name
	if err := os.WriteFile(path+".part", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// hear waits for the other end's description.
func (one *call) hear(name string) error {
	for time.Now().Before(one.deadline) {
		text, err := os.ReadFile(one.signal + "." + name)
		if errors.Is(err, os.ErrNotExist) {
			time.Sleep(signalEvery)
			continue
		}
		if err != nil {
			return err
		}
		var description webrtc.SessionDescription
		if err := json.Unmarshal(text, &description); err != nil {
			return err
		}
		return one.peer.SetRemoteDescription(description)
	}
	return fmt.Errorf("no %s of the other end", name)
}

func (one *call) awaitConnection() error {
	select {
	case <-one.connected:
		return nil
	case <-time.After(time.Until(one.deadline)):
		return errors.New("the ends did not connect")
	}
}

type callSent struct {
	SSRC        uint32 `json:"ssrc"`
	PayloadType uint8  `json:"payload_type"`
	Frames      int64  `json:"frames"`
	MediaBytes  int64  `json:"media_bytes"`
	StartNs     int64  `json:"start_ns"`
	EndNs       int64  `json:"end_ns"`
}

// targetLine is what congestion control says ten times a second.
type targetLine struct {
	TsNs      int64          `json:"ts_ns"`
	TargetBps int            `json:"target_bps"`
	Frames    int64          `json:"frames"`
	Estimator map[string]any `json:"estimator"`
}

// send makes frames of the size that congestion control allows: there is no picture, but all of the network's part is real.
func (one *call) send(startNs int64, generator *rand.Rand, tell func(targetLine) error) (callSent, error) {
	var sent callSent
	estimator := <-one.estimated
	track, err := webrtc.NewTrackLocalStaticSample(
		webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: videoClockHz}, "video", "testbed")
	if err != nil {
		return sent, err
	}
	sender, err := one.peer.AddTrack(track)
	if err != nil {
		return sent, err
	}
	go func() {
		// Reports are handled as they are read; reading fails when the peer connection closes.
		report := make([]byte, 1500)
		for {
			if _, _, err := sender.Read(report); err != nil {
				return
			}
		}
	}()
	offer, err := one.peer.CreateOffer(nil)
	if err != nil {
		return sent, err
	}
	if err := one.describe(offer, "offer"); err != nil {
		return sent, err
	}
	if err := one.hear("answer"); err != nil {
		return sent, err
	}
	if err := one.awaitConnection(); err != nil {
		return sent, err
	}
	sent.SSRC, sent.PayloadType = uint32(sender.GetParameters().Encodings[0].SSRC), videoPayloadType
	sleepUntil(startNs)
	sent.StartNs = realtimeNs()
	frame := make([]byte, 1<<20)
	_, _ = filler{}.Read(frame)
	const frameTime = time.Second / framesPerSecond
	err = every(sent.StartNs, one.deadline.UnixNano(), int64(frameTime), func(int64) error {
		size := encoderShare * float64(estimator.GetTargetBitrate()) / 8 / framesPerSecond
		size *= 1 - frameSpread + 2*frameSpread*generator.Float64()
		if sent.Frames == 0 {
			size *= keyFrame
		}
		bytes := min(max(int(size), 100), len(frame))
		if err := track.WriteSample(media.Sample{Data: frame[:bytes], Duration: frameTime}); err != nil {
			return err
		}
		sent.Frames++
		sent.MediaBytes += int64(bytes)
		if sent.Frames%3 != 0 {
			return nil
		}
		return tell(targetLine{realtimeNs(), estimator.GetTargetBitrate(), sent.Frames, estimator.GetStats()})
	})
	sent.EndNs = realtimeNs()
	return sent, err
}

type callReceived struct {
	Packets  int64 `json:"packets"`
	RTPBytes int64 `json:"rtp_bytes"`
	Frames   int64 `json:"frames_marked"`
}

// receive answers the call, and tells the statistics of the peer connection (getStats) once a second.
func (one *call) receive(tell func(webrtc.StatsReport) error) (callReceived, error) {
	var packets, octets, frames atomic.Int64
	one.peer.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		for {
			packet, _, err := track.ReadRTP()
			if err != nil {
				return // the peer connection closed
			}
			packets.Add(1)
			octets.Add(int64(packet.MarshalSize()))
			if packet.Marker {
				frames.Add(1)
			}
		}
	})
	if err := one.hear("offer"); err != nil {
		return callReceived{}, err
	}
	answer, err := one.peer.CreateAnswer(nil)
	if err != nil {
		return callReceived{}, err
	}
	if err := one.describe(answer, "answer"); err != nil {
		return callReceived{}, err
	}
	if err := one.awaitConnection(); err != nil {
		return callReceived{}, err
	}
	nextSecond := time.Now().Truncate(time.Second).Add(time.Second).UnixNano()
	err = every(nextSecond, one.deadline.UnixNano(), int64(time.Second), func(int64) error { return tell(one.peer.GetStats()) })
	if err != nil {
		return callReceived{}, err
	}
	sleepUntil(one.deadline.UnixNano())
	return callReceived{packets.Load(), octets.Load(), frames.Load()}, nil
}

// callFlags returns the options of both ends; the call and the log's name are right after they are parsed.
func callFlags(name string) (*flag.FlagSet, func() call, *string) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	var one call
	flags.TextVar(&one.at, "at", netip.AddrPort{}, "ADDRESS:PORT of this end")
	flags.StringVar(&one.signal, "signal", "", "files by which the ends find each other begin with this")
	end := flags.Int64("end-ns", 0, "when to stop, ns since the epoch")
	log := flags.String("log", "", "file of what is told while the call lasts")
	return flags, func() call { return call{at: one.at, signal: one.signal, deadline: time.Unix(0, *end)} }, log
}

func webrtcSendCommand(arguments []string) error {
	flags, parsed, log := callFlags("webrtc-send")
	initial := flags.Int("initial-bps", 300_000, "rate with which congestion control begins, bit/s")
	minimum := flags.Int("minimum-bps", 50_000, "lowest rate, bit/s")
	maximum := flags.Int("maximum-bps", 2_500_000, "highest rate, bit/s")
	start := flags.Int64("start-ns", 0, "when media begin, ns since the epoch; the ends connect before")
	seed := flags.Uint64("seed", 1, "seed of the sizes of frames")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *minimum <= 0 || *initial < *minimum || *maximum < *initial {
		return errors.New("expected 0 < minimum-bps <= initial-bps <= maximum-bps")
	}
	one := parsed()
	if err := one.open(*initial, *minimum, *maximum); err != nil {
		return err
	}
	write, closed, err := jsonLines(*log)
	if err != nil {
		return err
	}
	sent, failed := one.send(*start, rand.New(rand.NewPCG(*seed, 0)), func(line targetLine) error { return write(line) })
	if err := errors.Join(failed, closed()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(sent)
}

func webrtcReceiveCommand(arguments []string) error {
	flags, parsed, log := callFlags("webrtc-receive")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	one := parsed()
	if err := one.open(0, 0, 0); err != nil {
		return err
	}
	write, closed, err := jsonLines(*log)
	if err != nil {
		return err
	}
	received, failed := one.receive(func(report webrtc.StatsReport) error { return write(report) })
	if err := errors.Join(failed, closed()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(received)
}
