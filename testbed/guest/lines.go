package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
)

// jsonLines returns what writes one JSON value a line to a file, and what closes it.
func jsonLines(path string) (func(any) error, func() error, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, nil, err
	}
	buffered := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffered)
	return encoder.Encode, func() error { return errors.Join(buffered.Flush(), file.Close()) }, nil
}
