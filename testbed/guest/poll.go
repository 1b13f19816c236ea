package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// pollCommand writes one JSON object a poll: times before and after, and the command's output under KEY, as JSON where
// it is JSON and as a string where it is not.
func pollCommand(arguments []string) error {
	if len(arguments) < 5 {
		return fmt.Errorf("expected INTERVAL_MS END_NS FILE KEY COMMAND…")
	}
	intervalMs, err := strconv.ParseInt(arguments[0], 10, 64)
	if err != nil || intervalMs <= 0 {
		return fmt.Errorf("interval %q; expected milliseconds above 0", arguments[0])
	}
	endNs, err := strconv.ParseInt(arguments[1], 10, 64)
	if err != nil {
		return fmt.Errorf("end %q; expected nanoseconds since the epoch", arguments[1])
	}
	file, err := os.Create(arguments[2])
	if err != nil {
		return err
	}
	writer := bufio.NewWriter(file)
	key, command := arguments[3], arguments[4:]
	interval := intervalMs * 1_000_000
	failed := every((realtimeNs()/interval+1)*interval, endNs+1, interval, func(int64) error {
		started := realtimeNs()
		output, err := exec.Command(command[0], command[1:]...).Output()
		ended := realtimeNs()
		if err != nil {
			return fmt.Errorf("%v: %w", command, err)
		}
		value := json.RawMessage(bytes.TrimSpace(output))
		if !json.Valid(value) {
			if value, err = json.Marshal(string(bytes.TrimRight(output, " \n"))); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(writer, "{\"ts_ns\":%d,\"ts_end_ns\":%d,\"%s\":%s}\n", started, ended, key, value)
		return err
	})
	return errors.Join(failed, writer.Flush(), file.Close())
}
