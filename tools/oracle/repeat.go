package main

import (
	"maps"
	"slices"
)

// answer is an output line, or the part of it that kro decided.
type answer = map[string]any

// repeated asks the same question several times, because kro walks Go maps and
// Go walks them in random order. It returns the distinct answers, sorted, so
// that two runs of the oracle put the same one first.
func repeated(times int, ask func() (answer, error)) ([]answer, error) {
	seen := map[string]answer{}
	for range times {
		found, err := ask()
		if err != nil {
			return nil, err
		}
		text, err := encode(found)
		if err != nil {
			return nil, err
		}
		seen[string(text)] = found
	}
	distinct := []answer{}
	for _, text := range slices.Sorted(maps.Keys(seen)) {
		distinct = append(distinct, seen[text])
	}
	return distinct, nil
}
