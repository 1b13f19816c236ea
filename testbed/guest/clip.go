package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
)

// MPEG-2 transport streams (ITU-T H.222.0) over RTP (RFC 2250): seven packets of 188 bytes in one of RTP.
const (
	tsPacketBytes   = 188
	tsPacketsOfRTP  = 7
	tsSyncByte      = 0x47
	tsPayloadType   = 33 // RFC 3551
	tsClockHz       = 90_000
	pcrHz           = 27_000_000
	pcrWrapsAt      = int64(1) << 33 * 300
	adaptationField = 0x20
	pcrFlag         = 0x10
)

// clockReference returns the programme clock reference of a packet, in 27 MHz, if it has one.
func clockReference(packet []byte) (int64, bool) {
	if packet[3]&adaptationField == 0 || packet[4] < 7 || packet[5]&pcrFlag == 0 {
		return 0, false
	}
	base := int64(binary.BigEndian.Uint32(packet[6:]))<<1 | int64(packet[10]>>7)
	extension := int64(packet[10]&1)<<8 | int64(packet[11])
	return base*300 + extension, true
}

// timesOfClip returns when each packet of a transport stream is due, ns after the first clock reference: on a line between
// references, as the stream has a constant rate there, and at the rate of the last two after them.
func timesOfClip(clip []byte) ([]int64, error) {
	if len(clip) == 0 || len(clip)%tsPacketBytes != 0 {
		return nil, fmt.Errorf("%d bytes are not packets of %d bytes", len(clip), tsPacketBytes)
	}
	type reference struct {
		packet int
		ns     int64
	}
	var references []reference
	process, first, before, wrapped := -1, int64(0), int64(0), int64(0)
	packets := len(clip) / tsPacketBytes
	for index := range packets {
		packet := clip[index*tsPacketBytes:][:tsPacketBytes]
		if packet[0] != tsSyncByte {
			return nil, fmt.Errorf("packet %d does not begin with 0x47: not an MPEG-2 transport stream", index)
		}
		programme := int(binary.BigEndian.Uint16(packet[1:])) & 0x1fff
		pcr, has := clockReference(packet)
		if !has || process >= 0 && programme != process {
			continue
		}
		if process < 0 {
			process, first = programme, pcr
		} else if pcr < before {
			wrapped += pcrWrapsAt
		}
		before = pcr
		references = append(references, reference{index, (pcr + wrapped - first) * 1000 / (pcrHz / 1_000_000)})
	}
	if len(references) < 2 {
		return nil, errors.New("fewer than two clock references: the times of its packets are not known")
	}
	times := make([]int64, packets)
	for index, segment := range references[1:] {
		previous := references[index]
		end := segment.packet
		if index == len(references)-2 {
			end = packets
		}
		for packet := previous.packet; packet < end; packet++ {
			times[packet] = previous.ns + (segment.ns-previous.ns)*int64(packet-previous.packet)/int64(segment.packet-previous.packet)
		}
	}
	return times, nil
}

// sendClip sends a transport stream in its own time.
func sendClip(clip []byte, from, to netip.AddrPort, ssrc uint32, startNs, endNs int64) (rtpSent, error) {
	times, err := timesOfClip(clip)
	if err != nil {
		return rtpSent{}, err
	}
	sender, err := newRTPSender(from, to, tsPayloadType, ssrc, uint16(ssrc), startNs)
	if err != nil {
		return rtpSent{}, err
	}
	for index := 0; index < len(times); index += tsPacketsOfRTP {
		next := min(index+tsPacketsOfRTP, len(times))
		due := sender.StartNs + times[index]
		if due >= endNs {
			break
		}
		timestamp := ssrc + uint32(times[index]*(tsClockHz/1000)/1_000_000)
		sender.sendAt(due, timestamp, false, clip[index*tsPacketBytes:next*tsPacketBytes])
	}
	return sender.end()
}

func clipSendCommand(arguments []string) error {
	flags := flag.NewFlagSet("clip-send", flag.ContinueOnError)
	var from, to netip.AddrPort
	flags.TextVar(&from, "from", netip.AddrPort{}, "ADDRESS:PORT to send from")
	flags.TextVar(&to, "to", netip.AddrPort{}, "ADDRESS:PORT to send to")
	name := flags.String("clip", "clip.ts", "the transport stream, in this folder or in that of the job")
	ssrc := flags.Uint("ssrc", 1, "synchronisation source; the first sequence number and timestamp are made of it")
	start := flags.Int64("start-ns", 0, "time of the first packet, ns since the epoch")
	end := flags.Int64("end-ns", 0, "when to stop, ns since the epoch")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	clip, err := os.ReadFile(*name)
	if errors.Is(err, os.ErrNotExist) {
		clip, err = os.ReadFile(filepath.Join(jobFolder, *name))
	}
	if err != nil {
		return err
	}
	sent, err := sendClip(clip, from, to, uint32(*ssrc), *start, *end)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(sent)
}
