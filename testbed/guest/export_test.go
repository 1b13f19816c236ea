package main

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestTheWindowHoldsEachRunAfterItsLength(t *testing.T) {
	shared := &window{make([]byte, 64<<10), windowStart}
	for _, name := range []string{"one", "two"} {
		folder := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "file"), []byte(name+name), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := shared.add(folder); err != nil {
			t.Fatal(err)
		}
	}
	at := windowStart
	for _, name := range []string{"one", "two"} {
		size := int(binary.LittleEndian.Uint64(shared.memory[at:]))
		reader := tar.NewReader(bytes.NewReader(shared.memory[at+8 : at+8+size]))
		header, err := reader.Next()
		if err != nil || header.Name != name+"/file" {
			t.Fatal(header, err)
		}
		content, err := io.ReadAll(reader)
		if err != nil || string(content) != name+name {
			t.Fatal(content, err)
		}
		at += 8 + size
	}
	if whole := int(binary.LittleEndian.Uint64(shared.memory)); whole != at {
		t.Fatalf("%d bytes are whole, expected %d", whole, at)
	}
}

func TestAWindowThatIsFullIsToldAndLeftAsItWas(t *testing.T) {
	shared := &window{make([]byte, windowStart+100), windowStart}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), make([]byte, 200), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := shared.add(folder); err == nil || shared.end != windowStart {
		t.Fatal(err, shared.end)
	}
}
