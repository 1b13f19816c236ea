"""Outputs of ping that go wrong: other languages, duplicates without a mark, lines run together, clocks without a date.

Right values are those that the output's own summary states, or the lines read by eye.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from results import Tables, read

from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.series.windows_ping import stated_ms

CASES = "data/cases"


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "result"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rtts(tables: Tables, basis: str = "samples") -> list[float | None]:
    return [row["value"] for row in tables["series"] if row["sample_basis"] == basis]


@pytest.mark.parametrize(
    ("name", "expected", "stated"),
    [
        ("window_de_v6_sample", [11, 11, 18, 11], [11, 12, 18]),
        ("window_fr_sample1", [1, 1, 1, 1], [0, 0, 0]),
        ("window_ja_sample1", [7, 5, 4, 4], [4, 5, 7]),
    ],
)
def test_windows_ping_of_the_cases(shared: Path, name: str, expected: list[float], stated: list[float]) -> None:
    form, tables, reading = read(shared / CASES / f"ping/node-ping__{name}.txt")
    assert (form, reading.refused, reading.fault) == ("ping", {}, None)
    assert (rtts(tables), rtts(tables, "total")) == (expected, stated)


WINDOWS = {
    "English": (
        b"\r\nPinging a.example.org [8.8.8.8] with 32 bytes of data:\r\n"
        b"Reply from 8.8.8.8: bytes=32 time=12ms TTL=117\r\nRequest timed out.\r\n"
        b"Reply from 10.0.0.1: Destination host unreachable.\r\nReply from 8.8.8.8: bytes=32 time<1ms TTL=117\r\n"
        b"\r\nPing statistics for 8.8.8.8:\r\n    Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),\r\n"
        b"Approximate round trip times in milli-seconds:\r\n    Minimum = 1ms, Maximum = 12ms, Average = 6ms\r\n"
    ),
    "Russian, code page 866": (
        "\r\nОбмен пакетами с 8.8.8.8 по с 32 байтами данных:\r\n"
        "Ответ от 8.8.8.8: число байт=32 время=12мс TTL=117\r\nПревышен интервал ожидания для запроса.\r\n"
        "Ответ от 10.0.0.1: Заданный узел недоступен.\r\nОтвет от 8.8.8.8: число байт=32 время<1мс TTL=117\r\n"
        "\r\nСтатистика Ping для 8.8.8.8:\r\n    Пакетов: отправлено = 4, получено = 2, потеряно = 2\r\n"
        "    (50% потерь)\r\nПриблизительное время приема-передачи в мс:\r\n"
        "    Минимальное = 1мсек, Максимальное = 12 мсек, Среднее = 6 мсек\r\n"
    ).encode("cp866"),
    "French, code page 850": (
        "\r\nEnvoi d’une requête 'ping' sur a.example.org [8.8.8.8] avec 32 octets de données :\r\n"
        "Réponse de 8.8.8.8 : octets=32 temps=12 ms TTL=117\r\nDélai d’attente de la demande dépassé.\r\n"
        "Réponse de 10.0.0.1 : Impossible de joindre l’hôte de destination.\r\n"
        "Réponse de 8.8.8.8 : octets=32 temps<1ms TTL=117\r\n"
        "\r\nStatistiques Ping pour 8.8.8.8:\r\n    Paquets : envoyés = 4, reçus = 2, perdus = 2 (perte 50%),\r\n"
        "Durée approximative des boucles en millisecondes :\r\n"
        "    Minimum = 1ms, Maximum = 12ms, Moyenne = 6ms\r\n"
    ).replace("’", "'").encode("cp850"),
    "Chinese": (
        "\n正在 Ping a.example.org [8.8.8.8] 具有 32 字节的数据:\n来自 8.8.8.8 的回复: 字节=32 时间=12ms TTL=117\n"
        "请求超时。\n来自 10.0.0.1 的回复: 无法访问目标主机。\n来自 8.8.8.8 的回复: 字节=32 时间<1ms TTL=117\n\n"
        "8.8.8.8 的 Ping 统计信息:\n    数据包: 已发送 = 4，已接收 = 2，丢失 = 2 (50% 丢失)，\n"
        "往返行程的估计时间(以毫秒为单位):\n    最短 = 1ms，最长 = 12ms，平均 = 6ms\n"
    ).encode(),
    "Korean, IPv6": (
        "\nPing 2001:db8::1 32바이트 데이터 사용:\n2001:db8::1의 응답: 시간=12ms\n요청 시간이 만료되었습니다.\n"
        "대상 호스트에 연결할 수 없습니다.\n2001:db8::1의 응답: 시간<1ms\n\n2001:db8::1에 대한 Ping 통계:\n"
        "    패킷: 보냄 = 4, 받음 = 2, 손실 = 2 (50% 손실),\n왕복 시간(밀리초):\n"
        "    최소 = 1ms, 최대 = 12ms, 평균 = 6ms\n"
    ).encode(),
}  # fmt: skip


def test_two_blanks_before_the_figures_of_windows_are_read() -> None:
    line = b"    Minimo =  12ms, Massimo =  14ms, Medio =  13ms"
    assert stated_ms(line) == (12, 13, 14)


@pytest.mark.parametrize("language", WINDOWS)
def test_windows_ping_is_read_in_any_language_and_code_page(tmp_path: Path, language: str) -> None:
    form, tables, reading = read(written(tmp_path, WINDOWS[language]))
    assert (form, reading.refused, reading.fault) == ("ping", {}, None)
    assert rtts(tables) == [12.0, None, None, 1.0]
    assert rtts(tables, "total") == [1.0, 6.0, 12.0]
    assert {row["time_ns"] for row in tables["series"]} == {None}
    # Two outputs are two probes; one that is cut is read as far as it goes.
    _, tables, _ = read(written(tmp_path, WINDOWS[language] + WINDOWS[language][: len(WINDOWS[language]) // 2]))
    assert {row["flow_name"] for row in tables["series"]} == {"ping 1", "ping 2"}


@pytest.mark.parametrize("language", WINDOWS)
@pytest.mark.parametrize(
    "console",
    [
        "C:\\Users\\a>ping -t 8.8.8.8\r\n",
        "Microsoft Windows [Version 10.0.19045.3693]\r\n(c) Microsoft Corporation. All rights reserved.\r\n\r\n"
        "PS C:\\Users\\a> ping 8.8.8.8\r\n",
        "Tue 11/14/2023\r\n22:13:20.12\r\n",
    ],
    ids=["command", "banner", "date"],
)
def test_windows_ping_may_stand_behind_lines_of_a_console(tmp_path: Path, language: str, console: str) -> None:
    lines = len(console.split("\r\n")) - 1 - console.count("\r\n\r\n")
    form, tables, reading = read(written(tmp_path, console.encode() + WINDOWS[language]))
    assert (form, reading.refused, reading.fault) == ("ping", {"line_not_understood": lines}, None)
    assert rtts(tables) == [12.0, None, None, 1.0]


#: Texts of users, with lines as some of Windows' ping.
NO_PING = {
    "a table": "Table 3:\nhost=a time=9ms\nhost=b time=10ms\n",
    "times of day": "Test of the uplink\nRun 3:\n12:34:56 host=a rtt=9ms\n12:34:57 host=b rtt=10ms\n",
    "a date and a time": "2026-11-26 12:00:00 Test 3:\nfe80::1 rtt=9ms\n",
    "a file in a console": "C:\\>type log.txt\nTest 3:\na = 3, b = 2, c = 1\n",
    "times of day below an address": "Test 3 of 192.0.2.9:\n12:34:56 host=a rtt=9ms\n12:34:57 host=b rtt=10ms\n",
    "counts below an address": "Test 3 of 192.0.2.9:\na = 3, b = 2, c = 1\n",
    "hardware addresses": "Run 3 of 00:00:5e:00:53:01:\nb\n00:00:5e:00:53:01 rtt=9ms\n",
    "names of C++": "Run 3 of std::add:\nb\nstd::add time=9ms\n",
    "ports": "Run 3 of 192.0.2.9:443:\nb\nReply of 192.0.2.9: time=9ms TTL=3\n",
    "ports of IPv6": "Run 3 of [2001:db8::9]:443:\nb\nReply of 2001:db8::9: time=9ms\n",
    "the time of a run": "Run of 192.0.2.9 on 11/26/2026 at 12:00:00:\nb\nReply of 192.0.2.9: time=9ms TTL=3\n",
}


@pytest.mark.parametrize("text", NO_PING.values(), ids=NO_PING)
def test_a_text_with_some_lines_as_those_of_windows_is_no_ping(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="text of no known format"):
        read(written(tmp_path, text))


PROMPT = b"\r\nC:\\Users\\a>"


@pytest.mark.parametrize("language", WINDOWS)
@pytest.mark.parametrize(
    ("before", "refused"),
    [
        (b"Windows IP 10:\r\n", 1),
        (b"Test 10 of 192.0.2.7:\r\n", 1),
        (b"Test 10 of 192.0.2.7:\r\nOf the uplink:\r\n", 2),
        (b"Test 10 of 192.0.2.7:\r\nTest 11 of 192.0.2.7:\r\n", 2),
    ],
)
def test_what_looks_like_a_heading_above_one_is_counted_and_is_no_probe(
    tmp_path: Path, language: str, before: bytes, refused: int
) -> None:
    for prompt in (b"", PROMPT + b"ping 8.8.8.8\r\n"):
        form, tables, reading = read(written(tmp_path, before + prompt + WINDOWS[language]))
        assert (form, rtts(tables)) == ("ping", [12.0, None, None, 1.0])
        assert {row["flow_name"] for row in tables["series"]} == {"ping 1"}
        assert reading.refused == {"line_not_understood": refused + bool(prompt)}


@pytest.mark.parametrize("language", WINDOWS)
def test_lines_behind_the_statistics_of_windows_are_counted(tmp_path: Path, language: str) -> None:
    text = WINDOWS[language]
    between = PROMPT + b"echo a\r\na\r\nb = 1\r\nTest 2:\r\n" + PROMPT + b"ping 8.8.8.8\r\n"
    _, tables, reading = read(written(tmp_path, text + between + text + PROMPT + b"\r\nTest 3:\r\n"))
    assert rtts(tables) == [12.0, None, None, 1.0] * 2
    assert {row["flow_name"] for row in tables["series"]} == {"ping 1", "ping 2"}
    assert reading.refused == {"line_not_understood": 7}
    # Nor is a line that looks like a heading one without an answer or statistics behind it.
    _, tables, reading = read(written(tmp_path, text + b"Test 10 of 192.0.2.7:\r\n" + PROMPT + b"exit\r\n"))
    assert (rtts(tables), reading.refused) == ([12.0, None, None, 1.0], {"line_not_understood": 2})


def test_titles_and_figures_of_other_things_are_counted_and_end_no_probes_of_windows(tmp_path: Path) -> None:
    lines = WINDOWS["English"].splitlines(keepends=True)
    lines.insert(3, b"Test 3:\r\n")
    _, tables, reading = read(written(tmp_path, b"".join(lines)))
    assert (rtts(tables), reading.refused) == ([12.0, None, None, 1.0], {"line_not_understood": 1})
    # Figures that contradict each other.
    text = WINDOWS["English"].replace(b"Minimum = 1ms", b"Minimum = 7ms").replace(b"Lost = 1", b"Lost = 2")
    _, tables, reading = read(written(tmp_path, text))
    assert (rtts(tables), rtts(tables, "total")) == ([12.0, None, None, 1.0], [])
    assert reading.refused == {"line_not_understood": 4}


FURTHER_WINDOWS = {
    "Polish, code page 852": (
        "\r\nBadanie 192.0.2.9 z 32 bajtami danych:\r\nOdpowiedź z 192.0.2.9: bajtów=32 czas=9ms TTL=57\r\n"
        "Upłynął limit czasu żądania.\r\n\r\nStatystyka badania ping dla 192.0.2.9:\r\n"
        "    Pakiety: Wysłane = 2, Odebrane = 1, Utracone = 1\r\n             (50% straty),\r\n"
        "Szacunkowy czas błądzenia pakietów w millisekundach:\r\n"
        "    Minimum = 9 ms, Maksimum = 9 ms, Czas średni = 9 ms\r\n"
    ).encode("cp852"),
    "Portuguese, code page 1252": (
        "\r\nDisparando a.example [192.0.2.9] com 32 bytes de dados:\r\n"
        "Resposta de 192.0.2.9: bytes=32 tempo=9ms TTL=57\r\nEsgotado o tempo limite do pedido.\r\n\r\n"
        "Estatísticas do Ping para 192.0.2.9:\r\n    Pacotes: Enviados = 2, Recebidos = 1, Perdidos = 1 (50% de\r\n"
        "             perda),\r\nAproximar um número redondo de vezes em milissegundos:\r\n"
        "    Mínimo = 9ms, Máximo = 9ms, Média = 9ms\r\n"
    ).encode("cp1252"),
    "Italian, UTF-16": (
        "\r\nEsecuzione di Ping 192.0.2.9 con 32 byte di dati:\r\nRisposta da 192.0.2.9: byte=32 durata=9ms TTL=57\r\n"
        "Richiesta scaduta.\r\n\r\nStatistiche Ping per 192.0.2.9:\r\n    Pacchetti: Trasmessi = 2, Ricevuti = 1,\r\n"
        "    Persi = 1 (50% persi),\r\nTempo approssimativo percorsi andata/ritorno in millisecondi:\r\n"
        "    Minimo = 9ms, Massimo =  9ms, Medio =  9ms\r\n"
    ).encode("utf-16"),
    "Turkish, code page 1254": (
        "\r\n192.0.2.9 için 32 bayt veri ile ping işlemi:\r\n192.0.2.9 cevabı: bayt=32 süre=9ms TTL=57\r\n"
        "İstek zaman aşımına uğradı.\r\n\r\n192.0.2.9 için Ping istatistiği:\r\n"
        "    Paket: Giden = 2, Gelen = 1, Kaybolan = 1 (%50 kayıp),\r\nMili saniye türünden yaklaşık tur süreleri:\r\n"
        "    En Az = 9ms, En Çok = 9ms, Ortalama = 9ms\r\n"
    ).encode("cp1254"),
    "Chinese, code page 936": (
        "\r\n正在 Ping a.example [192.0.2.9] 具有 32 字节的数据:\r\n来自 192.0.2.9 的回复: 字节=32 时间=9ms TTL=57\r\n"
        "请求超时。\r\n\r\n192.0.2.9 的 Ping 统计信息:\r\n    数据包: 已发送 = 2，已接收 = 1，丢失 = 1 (50% 丢失)，\r\n"
        "往返行程的估计时间(以毫秒为单位):\r\n    最短 = 9ms，最长 = 9ms，平均 = 9ms\r\n"
    ).encode("gbk"),
}


@pytest.mark.parametrize("language", FURTHER_WINDOWS)
def test_windows_ping_of_further_languages_states_what_its_lines_do(tmp_path: Path, language: str) -> None:
    form, tables, reading = read(written(tmp_path, FURTHER_WINDOWS[language]))
    assert (form, reading.refused, reading.fault) == ("ping", {}, None)
    assert (rtts(tables), rtts(tables, "total")) == ([9.0, None], [9.0, 9.0, 9.0])


def test_statistics_of_windows_that_differ_from_the_lines_are_counted(tmp_path: Path) -> None:
    text = WINDOWS["English"].replace(b"Request timed out.\r\n", b"")
    _, tables, reading = read(written(tmp_path, text))
    assert rtts(tables) == [12.0, None, 1.0]
    assert reading.refused == {"statistics of other probes than are listed": 1}
    # A line that is down is a measurement.
    down = "Pinging 8.8.8.8 with 32 bytes of data:\r\n" + "Request timed out.\r\n" * 3
    down += "\r\nPing statistics for 8.8.8.8:\r\n    Packets: Sent = 3, Received = 0, Lost = 3 (100% loss),\r\n"
    assert rtts(read(written(tmp_path, down))[1]) == [None] * 3


@pytest.mark.parametrize("language", sorted(WINDOWS))
@pytest.mark.parametrize("place", ["first", "between", "last"])
def test_a_remark_among_answers_of_windows_is_no_lost_probe(tmp_path: Path, language: str, place: str) -> None:
    lines = WINDOWS[language].splitlines(keepends=True)
    heading = next(number for number, line in enumerate(lines) if line.strip())
    at = heading + {"first": 1, "between": 3, "last": 5}[place]
    lines.insert(at, b"Control-Break\r\n")
    _, tables, reading = read(written(tmp_path, b"".join(lines)))
    assert rtts(tables) == [12.0, None, None, 1.0]
    assert reading.refused == {"line_not_understood": 1}


def test_of_sentences_the_one_that_does_not_recur_is_the_remark(tmp_path: Path) -> None:
    lines = "Pinging 8.8.8.8 with 32 bytes of data:\r\nRequest timed out.\r\nThe cable was pulled.\r\n"
    lines += "Request timed out.\r\nReply from 8.8.8.8: bytes=32 time=9ms TTL=117\r\n"
    statistics = "\r\nPing statistics for 8.8.8.8:\r\n    Packets: Sent = 3, Received = 1, Lost = 2 (66% loss),\r\n"
    _, tables, reading = read(written(tmp_path, lines + statistics))
    assert (rtts(tables), reading.refused) == ([None, None, 9.0], {"line_not_understood": 1})
    # Without statistics, none of them tells which it is.
    _, tables, reading = read(written(tmp_path, lines))
    assert (rtts(tables), reading.refused) == ([None, None, None, 9.0], {})


GERMAN = (
    "PING 8.8.8.8 (8.8.8.8) 56(84) Bytes an Daten.\n64 Bytes von 8.8.8.8: icmp_seq=1 ttl=57 Zeit=12,3 ms\n"
    "64 Bytes von 8.8.8.8: icmp_seq=3 ttl=57 Zeit=112,4 ms\n\n--- 8.8.8.8 Ping-Statistiken ---\n"
    "4 Pakete übertragen, 2 empfangen, 50% Paketverlust, Zeit 3004ms\n"
    "rtt min/avg/max/mdev = 12,300/62,350/112,400/50,050 ms\n"
)
CHINESE = (
    "PING 8.8.8.8 (8.8.8.8) 56(84) 字节的数据。\n64 字节，来自 8.8.8.8: icmp_seq=1 ttl=57 时间=12.3 毫秒\n"
    "64 字节，来自 8.8.8.8: icmp_seq=3 ttl=57 时间=112.4 毫秒\n\n--- 8.8.8.8 ping 统计 ---\n"
    "已发送 4 个包， 已接收 2 个包, 50% packet loss, time 3004ms\n"
    "rtt min/avg/max/mdev = 12.300/62.350/112.400/50.050 毫秒\n"
)
FRENCH = (
    "PING 8.8.8.8 (8.8.8.8) 56(84) octets de données.\n64 octets de 8.8.8.8 : icmp_seq=1 ttl=57 temps=12,3 ms\n"
    "64 octets de 8.8.8.8 : icmp_seq=3 ttl=57 temps=112,4 ms\n\n--- statistiques ping 8.8.8.8 ---\n"
    "4 paquets transmis, 2 reçus, 50 % perte de paquets, temps 3004 ms\n"
    "rtt min/moy/max/mdev = 12,300/62,350/112,400/50,050 ms\n"
)


@pytest.mark.parametrize("text", [GERMAN, CHINESE, FRENCH], ids=["German", "Chinese", "French"])
def test_ping_of_linux_is_read_in_other_languages(tmp_path: Path, text: str) -> None:
    form, tables, reading = read(written(tmp_path, text))
    assert (form, reading.refused, reading.fault) == ("ping", {}, None)
    assert rtts(tables) == [12.3, 112.4, None, None]
    assert rtts(tables, "total") == [12.3, 62.35, 112.4]


def test_a_decimal_comma_is_no_separator_of_thousands(shared: Path, tmp_path: Path) -> None:
    _, tables, reading = read(shared / CASES / "bugs/ping_decimal_comma.txt")
    assert (rtts(tables), rtts(tables, "total"), reading.refused) == ([12.3, 112.4], [12.3, 62.35, 112.4], {})
    assert [row["time_ns"] for row in tables["series"]][:2] == [1_700_000_000_100_000_000, 1_700_000_001_100_000_000]
    text = (shared / CASES / "bugs/ping_decimal_comma.txt").read_text().replace("12,3 ms", "1.112,3 ms", 1)
    _, tables, reading = read(written(tmp_path, text))
    # No ping groups digits: what that number is, is not known, and it is no loss.
    assert (rtts(tables), reading.refused) == ([112.4], {"reply without its time": 1})


def test_bytes_of_p_stand_before_the_heading(shared: Path, tmp_path: Path) -> None:
    path = shared / CASES / "ping/jc__centos-7.7_ping-hostname-O-D-p-s.txt"
    form, tables, reading = read(path)
    assert (form, reading.refused, reading.fault, len(rtts(tables))) == ("ping", {}, None, 20)
    assert rtts(tables, "total") == [28.96, 34.468, 38.892]
    answered = [value for value in rtts(tables) if value is not None]
    assert sum(answered) / 20 == pytest.approx(34.468, abs=0.05)
    for before, refused in (
        ("PATTERN: 0xff\n", {}), ("\n\nPATTERN: 0x00112233445566778899aabbccddeeff\n", {}),
        ("$ ping -p ab 8.8.8.8\nPATTERN: 0xab\n", {"line_not_understood": 1}),
        ("ping: Warning: source address might be selected on device other than: eth0.\n", {}),
    ):  # fmt: skip
        form, tables, reading = read(written(tmp_path, before + path.read_text().partition("\n")[2]))
        assert (form, len(rtts(tables)), reading.refused) == ("ping", 20, refused)


HEAD = "PING 192.0.2.255 (192.0.2.255): 56 data bytes\n"
ANSWER = "64 bytes from 192.0.2.{host}: icmp_seq={n} ttl=64 time={ms} ms{mark}\n"


def test_a_second_answer_to_a_number_is_a_duplicate_with_or_without_a_mark(shared: Path, tmp_path: Path) -> None:
    _, tables, reading = read(shared / CASES / "ping/jc__osx-10.14.6_ping-ip-dup.txt")
    assert (rtts(tables), reading.refused) == ([0.235, 0.291], {"duplicate_reply": 13})
    for answers, expected, duplicates in (
        # In the order of the numbers, mixed with later ones, and marked as Linux does; over the end of 16 bits.
        ([(1, 0), (2, 0), (3, 0), (1, 1)], [1.0, 1.0], 2),
        ([(1, 0), (1, 1), (2, 0), (1, 2), (2, 1)], [1.0, 1.0, 1.0], 2),
        ([(1, 65535), (2, 65535), (1, 0), (2, 65535), (2, 0)], [1.0, 1.0], 3),
        # A late answer is none: 1 was missing until then.
        ([(1, 0), (1, 2), (1, 1), (2, 1)], [1.0, 1.0, 1.0], 1),
        # The first line is not of the first probe.
        ([(1, 5), (1, 4), (2, 5)], [1.0, 1.0], 1),
    ):
        for mark in ("", " (DUP!)"):
            lines = [
                ANSWER.format(host=host, n=n, ms="1.0", mark=mark if host > 1 else "") for host, n in answers
            ]  # fmt: skip
            _, tables, reading = read(written(tmp_path, HEAD + "".join(lines)))
            assert (rtts(tables), reading.refused) == (expected, {"duplicate_reply": duplicates})


def test_replies_on_one_line_are_no_loss(shared: Path, tmp_path: Path) -> None:
    _, tables, reading = read(shared / CASES / "ping/ping-run-together.txt")
    assert (rtts(tables), reading.refused) == ([1.0, 2.0, 3.0, 4.0], {"line_not_understood": 1})
    head = "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n"
    line = "64 bytes from 10.0.0.2: icmp_seq={} ttl=64 time={}.00 ms"
    for text, expected, refused in (
        # Cut before the time: the other reply's time is not its own, and a reply is no loss.
        (line.format(1, 1) + "\n" + line.format(2, 2)[:46] + line.format(3, 3) + "\n", [1.0, 3.0],
         {"line_not_understood": 1, "reply without its time": 1}),
        # Cut within the address: whose number is lost is none that was not answered.
        (line.format(1, 1) + "\n" + line.format(2, 2)[:17] + line.format(3, 3) + "\n", [1.0, 3.0],
         {"line_not_understood": 1}),
        # Cut within the number.
        (line.format(1, 1) + "\n" + line.format(2, 2)[:48] + line.format(3, 3) + "\n", [1.0, 3.0],
         {"line_not_understood": 1, "reply without its time": 1}),
        (line.format(1, 1) + line.format(2, 2) + line.format(3, 3) + "\n", [1.0, 2.0, 3.0], {"line_not_understood": 1}),
        # A line without a number is of no probe.
        (line.format(1, 1) + "\n64 bytes fr\n" + line.format(2, 2) + "\n", [1.0, 2.0], {"line_not_understood": 1}),
    ):  # fmt: skip
        _, tables, reading = read(written(tmp_path, head + text))
        assert (rtts(tables), reading.refused) == (expected, refused)
    fping = "10.0.0.2 : [{}], 64 bytes, {}.0 ms (1.0 avg, 0% loss)"
    text = fping.format(0, 1) + "\n" + fping.format(1, 2) + fping.format(2, 3) + "\n" + fping.format(3, 4) + "\n"
    _, tables, reading = read(written(tmp_path, text + "10.0.0.2 : duplicate for [3], 64 bytes, 9.0 ms\n"))
    assert (rtts(tables), reading.refused) == ([1.0, 4.0], {"line_not_understood": 1, "duplicate_reply": 1})


def test_probes_that_ping_says_have_no_answer_are_lost_until_one_comes(tmp_path: Path) -> None:
    mac = HEAD + "Request timeout for icmp_seq 0\n" + ANSWER.format(host=1, n=1, ms="2.0", mark="")
    assert rtts(read(written(tmp_path, mac))[1]) == [2.0, None]
    linux = (
        "PING 8.8.8.8 (8.8.8.8) 56(84) bytes of data.\n[1700000000.5] no answer yet for icmp_seq=1\n"
        "[1700000001.5] 64 bytes from 8.8.8.8: icmp_seq=1 ttl=57 time=1500 ms\n"
        "From 10.0.0.1 icmp_seq=2 Destination Host Unreachable\n"
    )
    _, tables, reading = read(written(tmp_path, linux))
    assert (rtts(tables), reading.refused) == ([1500.0, None], {})


@pytest.mark.parametrize("outage", [20_000, 40_000, 70_000, 140_000])
@pytest.mark.parametrize("behind", [0, 5])
def test_an_outage_is_as_long_as_the_statistics_say(tmp_path: Path, outage: int, behind: int) -> None:
    sent = 3 + outage + behind
    answered = [number for number in range(sent) if number < 3 or number >= 3 + outage]
    text = "".join(ANSWER.format(host=1, n=number % 2**16, ms="2.0", mark="") for number in answered)
    figures = f"{sent} packets transmitted, {3 + behind} packets received, {100 * outage / sent:.1f}% packet loss\n"
    _, tables, reading = read(written(tmp_path, f"{HEAD}{text}\n--- 192.0.2.255 ping statistics ---\n{figures}"))
    values = rtts(tables)
    assert (values.count(2.0), values.count(None), reading.refused) == (3 + behind, outage, {})


def test_answers_whose_lines_are_missing_are_no_lost_probes(tmp_path: Path) -> None:
    text = "".join(ANSWER.format(host=1, n=number, ms="2.0", mark="") for number in range(3))
    figures = "10 packets transmitted, 9 packets received, 10.0% packet loss\n"
    _, tables, _ = read(written(tmp_path, f"{HEAD}{text}\n--- 192.0.2.255 ping statistics ---\n{figures}"))
    assert rtts(tables) == [2.0, 2.0, 2.0, None]


def test_a_clock_that_was_never_set_gives_no_date(shared: Path, tmp_path: Path) -> None:
    _, tables, reading = read(shared / CASES / "bugs/fping_boot_time.txt")
    assert (rtts(tables), reading.refused) == ([20.0, 21.0, 22.0, 23.0, 24.0], {"clock_not_set": 1})
    assert [row["time_s"] for row in tables["series"]] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert {row["time_ns"] for row in (*tables["series"],)} == {None} == {row["start_ns"] for row in tables["run"]}
    # Of ping -D on a router before its clock is set, of a machine up for a year, and of milliseconds.
    for first in ("0000000012.500000", "31536000.5", "4200000000.5"):
        text = f"PING 8.8.8.8 (8.8.8.8) 56(84) bytes of data.\n[{first}] 64 bytes from 8.8.8.8: icmp_seq=1 time=9 ms\n"
        _, tables, reading = read(written(tmp_path, text))
        assert (rtts(tables), reading.refused) == ([9.0], {"clock_not_set": 1})
        assert (tables["series"][0]["time_ns"], tables["run"][0]["start_ns"]) == (None, None)


def test_a_negative_round_trip_is_refused_and_counted_and_is_no_loss(shared: Path, tmp_path: Path) -> None:
    _, tables, reading = read(shared / CASES / "bugs/fping_negative_rtt.txt")
    assert (rtts(tables), reading.refused) == ([20.1, 20.3, 20.2, None], {"rtt_ms: below 0": 1})
    times = [row["time_s"] for row in tables["series"]]
    assert times == pytest.approx([0.0, 1.0, 0.24001, 1.24001], abs=1e-4)
    for value in ("-12.3", "-1e+03", "-0.001"):
        text = HEAD + ANSWER.format(host=1, n=0, ms=value, mark="") + ANSWER.format(host=1, n=1, ms="2.0", mark="")
        text += "\n--- 192.0.2.255 ping statistics ---\n2 packets transmitted, 2 packets received, 0.0% packet loss\n"
        _, tables, reading = read(written(tmp_path, text))
        assert (rtts(tables), reading.refused) == ([2.0], {"rtt_ms: below 0": 1})


def test_output_without_one_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no round-trip time"):
        read(written(tmp_path, HEAD + "64 bytes fr\n"))
