package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// answerLines runs the command over every line that is not blank.
func answerLines(in io.Reader, out io.Writer, command subcommand) error {
	reader := bufio.NewReaderSize(in, 1<<20)
	writer := bufio.NewWriter(out)
	defer writer.Flush()

	for number := 1; ; number++ {
		line, readErr := reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			answer, err := command(line)
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			text, err := encode(answer)
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			if _, err := writer.Write(append(text, '\n')); err != nil {
				return err
			}
		}
		if errors.Is(readErr, io.EOF) {
			return nil
		}
		if readErr != nil {
			return readErr
		}
	}
}

// encode writes JSON the way people read it: "<" stays "<".
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}

// decodeObject reads a JSON object with whole numbers as int64, as the API
// machinery hands objects to kro.
func decodeObject(text []byte) (map[string]any, error) {
	object := map[string]any{}
	if err := k8sjson.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	return object, nil
}
