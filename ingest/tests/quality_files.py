"""Files as quality tools write them: scores of frames, and page loads, some of which did not load."""

from __future__ import annotations

import json

SSIM = (
    "n:1 Y:0.982200 U:0.970000 V:0.971000 All:0.978300 (16.636)\n"
    "n:2 Y:1.000000 U:1.000000 V:1.000000 All:1.000000 (inf)\n"
)
PSNR = (
    "n:1 mse_avg:9.90 mse_y:11.0 mse_u:7.0 mse_v:7.5 psnr_avg:38.17 psnr_y:37.70 psnr_u:39.60 psnr_v:39.30 \n"
    "n:2 mse_avg:0.00 mse_y:0.00 mse_u:0.00 mse_v:0.00 psnr_avg:inf psnr_y:inf psnr_u:inf psnr_v:inf \n"
)
XML = (
    '<VMAF version="3.0.0">\n  <params qualityWidth="576" qualityHeight="324" />\n  <frames>\n'
    '    <frame frameNum="0" integer_adm2="0.96" psnr_y="34.76" float_ssim="0.951" vmaf="83.856286" />\n'
    '    <frame frameNum="1" integer_adm2="0.94" psnr_y="31.88" float_ssim="0.934" vmaf="74.2" />\n'
    '  </frames>\n  <pooled_metrics>\n    <metric name="vmaf" min="74.2" mean="79.0" />\n  </pooled_metrics>\n</VMAF>\n'
)
CSV = "Frame,integer_adm2,psnr_y,vmaf,\n0,0.96,34.76,83.856286,\n1,0.94,31.88,74.2,\n"
JSON = json.dumps(
    {
        "version": "3.0.0",
        "frames": [
            {"frameNum": 0, "metrics": {"integer_adm2": 0.96, "psnr_y": 34.76, "vmaf": 83.856286}},
            {"frameNum": 1, "metrics": {"integer_adm2": 0.94, "psnr_y": 31.88, "vmaf": 74.2}},
        ],
        "pooled_metrics": {"vmaf": {"mean": 79.0}},
    },
    indent=2,
)
HAR = json.dumps(
    {
        "log": {
            "version": "1.2",
            "creator": {"name": "browser", "version": "1"},
            "pages": [
                {"id": "page_1", "title": "https://someone.example/secret", "pageTimings": {"onLoad": 1300.5}},
                {"id": "page_2", "title": "https://someone.example/", "pageTimings": {"onLoad": -1}},
                {"id": "page_3", "title": "x", "pageTimings": {}},
            ],
            "entries": [],
        }
    }
)
PAGE_LOADS = "\n".join(
    [
        '{"url_effective":"https://someone.example/","http_code":200,"time_total":1.25,"exitcode":0}',
        '{"time_total":0.1,"exitcode":28}',
        '{"time_total":0}',
        '{"entryType":"navigation","startTime":0,"loadEventEnd":812.5}',
        '{"entryType":"navigation","startTime":0,"loadEventEnd":0}',
        "not JSON",
    ]
)
LIGHTHOUSE = json.dumps(
    {
        "lighthouseVersion": "12.2.1",
        "requestedUrl": "https://someone.example/secret",
        "gatherMode": "navigation",
        "audits": {
            "metrics": {"details": {"type": "debugdata", "items": [{"observedLoad": 1158, "interactive": 1643}]}}
        },
    }
)
WGET_LOG = (
    "--2026-11-22 22:00:52--  http://someone.example/none.html\n"
    "HTTP request sent, awaiting response... 404 Not Found\n"
    "2026-11-22 22:00:52 ERROR 404: Not Found.\n\n"
    "--2026-11-22 22:00:55--  http://someone.example/\n"
    "HTTP request sent, awaiting response... 200 OK\n"
    "Saving to: 'index.html'\n\n"
    "FINISHED --2026-11-22 22:00:56--\n"
    "Total wall clock time: 1.6s\n"
    "Downloaded: 4 files, 79K in 1.4s (56.0 KB/s)\n"
)
