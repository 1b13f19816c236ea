package main

import (
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// served returns the address of a server of bytes; with a pause before each answer.
func served(t *testing.T, pause time.Duration) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		time.Sleep(pause)
		serveBytes(answer, request)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return listener.Addr().String()
}

var page = []int64{15000, 5800, 30000, 30000}

func TestAPageComesOverOnePersistentConnectionOneObjectAfterTheOther(t *testing.T) {
	client := browser{netip.MustParseAddr("127.0.0.1"), served(t, 20*time.Millisecond), page, 1}
	load := client.load(3, time.Now().Add(10*time.Second))
	if load.ExitCode != loadOk || load.NumConnects != 1 || len(load.LocalPorts) != 1 || load.SizeDownload != 80800 || load.Load != 3 {
		t.Fatalf("%+v", load)
	}
	if load.TimeTotalS < 0.08 {
		t.Fatalf("four answers of 20 ms one after the other took %f s", load.TimeTotalS)
	}
}

func TestABrowserOfSeveralConnectionsFetchesObjectsSideBySide(t *testing.T) {
	client := browser{netip.MustParseAddr("127.0.0.1"), served(t, 50*time.Millisecond), page, 6}
	load := client.load(0, time.Now().Add(10*time.Second))
	if load.ExitCode != loadOk || load.NumConnects < 2 || load.NumConnects != len(load.LocalPorts) || load.SizeDownload != 80800 {
		t.Fatalf("%+v", load)
	}
}

func TestALoadThatTheRunCutsOffIsToldAsCurlTellsATimeOut(t *testing.T) {
	client := browser{netip.MustParseAddr("127.0.0.1"), served(t, time.Second), page, 1}
	load := client.load(0, time.Now().Add(100*time.Millisecond))
	if load.ExitCode != loadTimedOut || load.SizeDownload != 0 {
		t.Fatalf("%+v", load)
	}
}

func TestAServerThatIsNotThereIsAFailedLoad(t *testing.T) {
	client := browser{netip.MustParseAddr("127.0.0.1"), "127.0.0.1:1", page, 1}
	if load := client.load(0, time.Now().Add(time.Second)); load.ExitCode != loadFailed || load.ErrorMessage == "" {
		t.Fatalf("%+v", load)
	}
}
