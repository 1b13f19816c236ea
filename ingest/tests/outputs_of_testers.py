"""Outputs of tools that make load, probe, test a line or load pages, and of what describes a clip.

No reader takes them.

Those of mtr, hping, iperf3, irtt, curl, wget, ffmpeg and ffprobe begin as recorded ones do; the others are written
after the sources and documents of the tools.
"""

from __future__ import annotations

import json

#: What each reason begins with: outputs that get it.
OUTPUTS_OF_TESTERS: dict[str, tuple[str, ...]] = {
    "iperf3's text": (
        "iperf 3.12\nLinux vm 6.1.0 #1 SMP x86_64\nControl connection MSS 32768\nTime: Thu, 26 Nov 2026\n",
    ),
    "an error message of iperf": (
        "iperf3: error - unable to connect to server: Connection refused\n",
        "iperf3: interrupt - the client has terminated\n",
        "connect failed: Connection refused\n",
        "tcp connect failed: Connection refused\n",
    ),
    "ab's text, which is not read; record curl -o /dev/null -w '%{json}\\n' URL > page_loads.jsonl": (
        "This is ApacheBench, Version 2.3 <$Revision: 1879490 $>\nCopyright 1996 Adam Twiss\n",
    ),
    "wrk's text": ("Running 30s test @ http://192.0.2.9:80/\n  2 threads and 10 connections\n",),
    "hey's text": ("\nSummary:\n  Total:\t1.2345 secs\n  Slowest:\t0.2345 secs\n",),
    "oha's text": ("Summary:\n  Success rate:\t100.00%\n  Total:\t1.2345 secs\n",),
    "h2load's text": ("starting benchmark...\nspawning thread #0: 1 total client(s). 10 total requests\n",),
    "siege's text": (
        "** SIEGE 4.0.7\n** Preparing 5 concurrent users\n",
        "Transactions:\t\t 100 hits\nAvailability:\t\t 100.00 %\n",
    ),
    "siege's result": (
        '{ "transactions":\t 100,\n"availability": 100.00,\n"elapsed_time": 9.12,\n"data_transferred": 0.01 }\n',
    ),
    "vegeta's text": (
        "Requests      [total, rate, throughput]         300, 10.03, 10.02\nDuration  [total, attack, wait]\n",
    ),
    "vegeta's result": (json.dumps({"latencies": {"mean": 1}, "bytes_in": {"total": 1}, "requests": 300}),),
    "k6's result": (json.dumps({"root_group": {"name": ""}, "metrics": {"http_req_duration": {"avg": 1}}}),),
    "Fortio's text": ("Fortio 1.60.3 running at 8 queries per second, 2->2 procs, for 5s: http://192.0.2.9/\n",),
    "Fortio's result": (json.dumps({"RunType": "HTTP", "Labels": "", "DurationHistogram": {"Count": 40}}),),
    "locust's text": ("Type,Name,Request Count,Failure Count,Median Response Time\nGET,/,100,0,9\n",),
    "uperf's text": (
        "Starting 4 threads running profile:tcp_stream ...   0.00 seconds\n"
        "Txn1          0 /   1.00(s) =            0\n",
    ),
    "D-ITG's text": (
        "ITGDec version 2.8.1 (r1023)\nCompile-time options: sctp dccp bursty multiport\n"
        "/----------------------\nFlow number: 1\n",
        "Flow>1 Seq>1 Src>192.0.2.1/36067 Dest>192.0.2.2/8999 txTime>22:13:20.123456\n",
    ),
    "MGEN's text": ("22:59:52.312721 RECV proto>UDP flow>1 seq>1 src>192.0.2.1/5000 dst>192.0.2.2/5000\n",),
    "NTttcp's text": ("NTTTCP for Linux 1.4.0\n---------------------------------------------------------\n",),
    "Ethr's text": ("Ethr: Comprehensive Network Performance Measurement Tool (Version: v1.0.0)\nMaintainer: x\n",),
    "text of betterspeedtest": (
        "2023-11-14 22:13:20 Testing against netperf.example.org (ipv4) with 5 simultaneous sessions while"
        " pinging a (30 seconds)\n",
        "Tue Nov 14 22:13:20 2023\nStarting speedtest for 60 seconds per transfer session.\n"
        "Measure speed to a.example (IPv4) while pinging b.example.\n",
    ),
    "mtr's output for a screen": (
        "1 192.0.2.1 0 1 1 0 0 0\n2 192.0.2.9 0 1 1 9 9 9\n",
        "1 gateway.example 0 2 2 0.3 0.4 0.5 0.1\n2 ???\n",
        "\x1b[?1049h\x1b[1;24r\x1b[m\x1b[4l\x1b[1;29HMy traceroute  [v0.95]\x1b[2;1Hlaptop (192.0.2.2)\n",
    ),
    "hping's text": (
        "\n--- 127.0.0.1 hping statistic ---\n3 packets transmitted, 3 packets received, 0% packet loss\n"
        "round-trip min/avg/max = 0.5/0.6/0.7 ms\nHPING 127.0.0.1 (lo 127.0.0.1): icmp mode set, 28 headers + 0"
        " data bytes\n",
    ),
    "nmap's text": (
        "# Nmap 7.93 scan initiated Tue Nov 14 22:13:20 2023 as: nmap 192.0.2.9\n",
        "Starting Nmap 7.93 ( https://nmap.org )\n",
    ),
    "MikroTik's ping's text": (
        "  SEQ HOST                                     SIZE TTL TIME       STATUS\n"
        "    0 192.0.2.9   56  57 9ms871us\n",
    ),
    "Cisco's ping's text": (
        "Type escape sequence to abort.\nSending 5, 100-byte ICMP Echos to 192.0.2.9, timeout is 2 seconds:\n!!!!!\n",
    ),
    "text of ping on a router of Huawei": (
        "  PING 192.0.2.9: 56  data bytes, press CTRL_C to break\n"
        "    Reply from 192.0.2.9: bytes=56 Sequence=1 ttl=255 time=9 ms\n",
        "    Reply from 192.0.2.9: bytes=56 Sequence=2 ttl=255 time = 9 ms\n",
    ),
    "httping's text": (
        "PING 192.0.2.9:80 (http://192.0.2.9/):\nconnected to 192.0.2.9:80 (305 bytes), seq=0 time=  9.87 ms \n"
        "--- http://192.0.2.9/ ping statistics ---\n1 connects, 1 ok, 0.00% failed, time 1010ms\n",
    ),
    "arping's text": (
        "ARPING 192.0.2.1 from 192.0.2.2 eth0\nUnicast reply from 192.0.2.1 [02:00:00:00:00:05]  1.234ms\n",
        "ARPING 192.0.2.1\n60 bytes from 02:00:00:00:00:05 (192.0.2.1): index=0 time=1.234 msec\n",
    ),
    "tcptraceroute's text": (
        "Selected device eth0, address 192.0.2.2, port 42143 for outgoing packets\nTracing the path to a (192.0.2.9)\n",
    ),
    "dublin-traceroute's text": (
        "Starting dublin-traceroute\nTraceroute from 0.0.0.0:12345 to 192.0.2.9:33434~33453\n",
    ),
    "a report like dublin-traceroute's": (json.dumps({"flows": {"33434": [{"rtt_usec": 9, "nat_id": 0}]}}),),
    "dig's text": ("\n; <<>> DiG 9.18.19 <<>> example.org\n;; global options: +cmd\n;; Got answer:\n",),
    "dnsping's text": (
        "dnsping.py DNS: 192.0.2.53:53, hostname: example.org, proto: UDP, class: IN, type: A, flags: [RD]\n",
    ),
    "dnsperf's text": (
        "DNS Performance Testing Tool\nVersion 2.10.0\n\n[Status] Command line: dnsperf -s 192.0.2.53\n",
    ),
    "text of RRDtool, such as SmokePing's": (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE rrd SYSTEM "https://oss.oetiker.ch/rrdtool/rrdtool.dtd">\n'
        "<!-- Round Robin Database Dump -->\n<rrd>\n",
        "                          uptime                loss              median\n\n"
        "1700000000: nan 0.0000000000e+00 9.8000000000e-03\n",
    ),
    "tcping's text": (
        "\nProbing 192.0.2.9:443/tcp - Port is open - time=9.871ms \n",
        "TCPinging example.org on port 443\nReply from example.org (192.0.2.9) on port 443 TCP_conn=1 time=9.871 ms\n",
    ),
    "paping's text": ("paping v1.5.5 - Copyright (c) 2011 Mike Lovell\n\nConnecting to 192.0.2.9 on TCP 443:\n",),
    "Test-Connection's text": (
        "\n   Destination: example.org\n\nPing Source           Address                   Latency BufferSize Status\n",
        "Source        Destination     IPV4Address      IPV6Address                              Bytes    Time(ms) \n",
    ),
    "the log of irtt's server": (
        "[ServerStart] starting IRTT server version 0.9.0\n[ListenerStart] starting IPv4 listener\n",
    ),
    "text of Ookla's client": (
        "==============================================================================\n\n"
        "You may only use this Speedtest software\n\n   Speedtest by Ookla\n",
        "\x1b[1m   Speedtest by Ookla\x1b[0m\n\n      Server: Example\n",
    ),
    "an error message of Ookla's client": (
        "[2023-11-14 22:13:20.123] [error] Configuration - Couldn't resolve host name (HostNotFoundException)\n",
    ),
    "text of LibreSpeed's client": (
        "Retrieving server list from https://librespeed.org/backend-servers/servers.php\n"
        "Selecting the fastest server\n",
        "Ping:\t24.00 ms\tJitter:\t1.30 ms\nDownload rate:\t95.25 Mbps\nUpload rate:\t20.50 Mbps\n",
    ),
    "speedtest-go's text": ("\n    speedtest-go v1.6.10 (git-abc) @showwin\n\n✓ ISP: 192.0.2.1 (Example)\n",),
    "text of a client of Cloudflare's test": (
        "Country: DE\nIp: 192.0.2.1\nAsn: 1\nColo: FRA\nSummary Statistics\n"
        "Type     Payload |  min/max/avg in mbit/s\n",
        "  Server location: Frankfurt (FRA)\n          Your IP: 192.0.2.1 (DE)\n          Latency: 10.11 ms\n",
    ),
    "goresponsiveness' text, which is not read; run networkQuality -c on a Mac, or flent": (
        "11-14-2023 22:13:20 UTC Go Responsiveness to networkquality.example.com:4043...\nRPM:  640\n",
    ),
    "networkquality-rs' result, which is not read; run networkQuality -c on a Mac, or flent": (
        json.dumps(
            {
                "unloaded_latency_ms": 9.8,
                "jitter_ms": 1,
                "download": {"throughput": 1, "loaded_latency_ms": 86.9, "rpm": 446},
            }
        ),
    ),
    "fast-cli's text": (
        "\n     93 Mbps ↓ / 8.2 Mbps ↑\n\n     Latency: 10 ms (unloaded) / 42 ms (loaded)\n",
        " -> 92.35 Mbps\n",
    ),
    "ndt7-client's text": (
        "\nTest results\n\n          Server: ndt.example\n          Client: 192.0.2.1\n\n Download Upload\n",
    ),
    "networkQuality's text": (
        "\n==== SUMMARY ====          \nUpload capacity: 1.234 Mbps\nDownload capacity: 3.450 Mbps\n",
        "Downlink: capacity 3.450 Mbps, responsiveness 0 RPM - Uplink: capacity 1.230 Mbps, responsiveness 0"
        " RPM\n==== SUMMARY ====\n",
    ),
    "curl's text": (
        "*   Trying 192.0.2.9:80...\n* Connected to 192.0.2.9 (192.0.2.9) port 80 (#0)\n> GET / HTTP/1.1\n",
        "* Host example.org:443 was resolved.\n* IPv6: (none)\n* IPv4: 192.0.2.9\n",
        "19:38:00.808750 *   Trying 192.0.2.9:80...\n19:38:00.809381 * Connected to 192.0.2.9\n",
        "== Info:   Trying 192.0.2.9:80...\n== Info: Connected to 192.0.2.9\n=> Send header, 79 bytes (0x4f)\n",
        "19:38:00.792250 == Info:   Trying 192.0.2.9:80...\n19:38:00.794470 => Send header, 79 bytes (0x4f)\n",
        "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n",
        "    time_namelookup:  0.000012s\n       time_connect:  0.000345s\n         time_total:  0.001234s\n",
        "curl: (7) Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server\n",
        "HTTP/1.0 200 OK\nServer: SimpleHTTP/0.6 Python/3.11.7\n",
    ),
    "wget's short log": ('2026-11-26 19:38:01 URL:http://192.0.2.9/ [4256/4256] -> "/dev/null" [1]\n',),
    "httpstat's text": (
        "Connected to 192.0.2.9:443 from 192.0.2.2:5000\n\n  DNS Lookup   TCP Connection   TLS Handshake  "
        " Server Processing\n",
    ),
    "a web server's log": ('192.0.2.1 - - [26/Nov/2026:19:38:00 +0000] "GET / HTTP/1.1" 200 123 "-" "curl"\n',),
    "Lighthouse's table": (
        '"requestedUrl","finalUrl","category","name","title","type","score"\n',
        "category,name,title,type,score\n",
    ),
    "a trace of a browser": (
        json.dumps({"traceEvents": [{"ph": "X", "ts": 1, "pid": 1, "tid": 1, "name": "x"}], "metadata": {}}),
        json.dumps([{"ph": "X", "ts": 1, "pid": 1, "tid": 1, "name": "x", "cat": "devtools.timeline"}]),
    ),
    "Chrome's NetLog": (json.dumps({"constants": {"logEventTypes": {}}, "events": [{"time": "1", "type": 1}]}),),
    "WebPageTest's result": (
        json.dumps({"data": {"id": "x", "runs": {"1": {"firstView": {}}}}, "statusCode": 200}),
        json.dumps({"data": {"median": {"firstView": {"TTFB": 90}}}}),
    ),
    "a record of the Chrome UX Report": (json.dumps({"record": {"key": {"origin": "x"}, "metrics": {}}}),),
    "a profile of Firefox": (
        json.dumps({"meta": {"interval": 1, "product": "Firefox"}, "libs": [], "threads": [{"name": "GeckoMain"}]}),
    ),
    "ffmpeg's log": (
        "ffmpeg version 5.1.6 Copyright (c) 2000-2024 the FFmpeg developers\n  built with gcc 12\n",
        "frame=1\nfps=0.00\nstream_0_0_q=-0.0\nbitrate=N/A\n",
    ),
    "a description of a clip": (
        "ffprobe version 5.1.6 Copyright (c) 2007-2024 the FFmpeg developers\n",
        "[FORMAT]\nfilename=a.mp4\nnb_streams=1\n",
        "[PACKET]\ncodec_type=video\nstream_index=0\n",
        "packet,video,0,0,0.000000,-4096,-0.400000,2048,0.200000,3789,48,K_\n",
        'streams.stream.0.index=0\nstreams.stream.0.codec_name="h264"\n',
        '<?xml version="1.0" encoding="UTF-8"?>\n<ffprobe>\n    <packets>\n',
        "General\nComplete name                            : a.mp4\nFormat : MPEG-4\n",
        json.dumps(
            {"streams": [{"index": 0, "codec_name": "h264", "codec_long_name": "x"}], "format": {"duration": "1"}}
        ),
        "stream,0,h264,H.264 / AVC / MPEG-4 AVC / MPEG-4 part 10,High,video,[0][0][0][0],0x0000,320,180\n",
        "frame,video,0,1,-4096,-0.400000,-4096,-0.400000,2048,0.200000\n",
        json.dumps({"format": {"filename": "a.mp4", "nb_streams": 1, "format_name": "mov,mp4", "duration": "1"}}),
        json.dumps({"frames": [{"media_type": "video", "stream_index": 0, "pts": 0}]}),
        json.dumps({"creatingLibrary": {"name": "MediaInfoLib"}, "media": {"track": []}}),
    ),
    "GStreamer's log": ("Setting pipeline to PAUSED ...\nPipeline is live and does not need PREROLL ...\n",),
    "scores of PESQ or ViSQOL": (
        "P.862 Prediction (Raw MOS, MOS-LQO):  = 3.911\t4.012\n",
        "reference,degraded,moslqo\na.wav,b.wav,4.1\n",
    ),
    "YouTube's statistics for nerds": (json.dumps({"ns": "yt", "el": "detailpage", "cpn": "x", "fmt": "243"}),),
    "a score of ITU-T P.1203": (
        json.dumps({"examples/mode0.json": {"O23": 4.1, "O34": [4.2], "O35": 4.1, "O46": 4.0, "mode": 0}}),
        json.dumps({"a.mp4": {"O34": [4.2], "O46": 4.0}, "b.mp4": {"O34": [4.1], "O46": 3.9}}),
    ),
    "a recording of a terminal": ('Script started on 2026-11-26 19:52:19+00:00 [COMMAND="x"]\n',),
}
