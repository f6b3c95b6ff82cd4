package main

import (
	"encoding/json"

	"github.com/kubernetes-sigs/kro/pkg/graph/crd/compat"
	"github.com/kubernetes-sigs/kro/pkg/simpleschema"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// newSchema answers with the OpenAPI schema of a SimpleSchema.
func newSchema() (subcommand, error) {
	return func(line []byte) (any, error) {
		input, err := decodeObject(line)
		if err != nil {
			return nil, err
		}
		fields, _ := input["spec"].(map[string]any)
		types, _ := input["types"].(map[string]any)
		schema, err := simpleschema.ToOpenAPISpec(fields, types)
		if err != nil {
			input["error"] = err.Error()
			return input, nil
		}
		// A default that is not JSON shows only here; the API server would refuse it.
		text, err := encode(schema)
		if err != nil {
			input["unencodable"] = err.Error()
			return input, nil
		}
		input["openapi"] = json.RawMessage(text)
		return input, nil
	}, nil
}

const comparisons = 100

type change struct {
	Path        string `json:"path"`
	Type        string `json:"type"`
	Old         string `json:"old,omitempty"`
	New         string `json:"new,omitempty"`
	Description string `json:"description"`
}

// newCompat answers with what changed between two CRDs, in kro's order. kro
// takes sibling properties in random order; all summaries seen are then listed.
func newCompat() (subcommand, error) {
	return func(line []byte) (any, error) {
		var input struct {
			Old extv1.CustomResourceDefinition `json:"old"`
			New extv1.CustomResourceDefinition `json:"new"`
		}
		if err := json.Unmarshal(line, &input); err != nil {
			return nil, err
		}
		distinct, err := repeated(comparisons, func() (answer, error) {
			return compare(input.Old.Spec.Versions, input.New.Spec.Versions), nil
		})
		if err != nil {
			return nil, err
		}
		if len(distinct) > 1 {
			summaries := []any{}
			for _, one := range distinct {
				summaries = append(summaries, one["summary"])
			}
			distinct[0]["varies"] = summaries
		}
		return distinct[0], nil
	}, nil
}

func compare(before, after []extv1.CustomResourceDefinitionVersion) answer {
	report, err := compat.CompareVersions(before, after)
	if err != nil {
		return answer{"error": err.Error()}
	}
	return answer{
		"breaking":    listChanges(report.BreakingChanges),
		"nonBreaking": listChanges(report.NonBreakingChanges),
		"summary":     report.String(),
	}
}

func listChanges(changes []compat.Change) []change {
	found := []change{}
	for _, one := range changes {
		found = append(found, change{
			Path: one.Path, Type: string(one.ChangeType),
			Old: one.OldValue, New: one.NewValue, Description: one.Description(),
		})
	}
	return found
}
