package main

import (
	"encoding/json"

	"github.com/kubernetes-sigs/kro/pkg/cel"
	"github.com/kubernetes-sigs/kro/pkg/cel/ast"
	"github.com/kubernetes-sigs/kro/pkg/graph/parser"
)

// newScan answers with the expressions of a string as the author wrote them
// and, if there is any, the one expression kro builds of them.
func newScan() (subcommand, error) {
	return func(line []byte) (any, error) {
		var input struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(line, &input); err != nil {
			return nil, err
		}
		answer := map[string]any{"text": input.Text}
		pieces, err := parser.ExtractExpressions(input.Text)
		if err != nil {
			answer["error"] = err.Error()
			return answer, nil
		}
		standalone, _ := parser.IsStandaloneExpression(input.Text)
		answer["expressions"] = pieces
		answer["standalone"] = standalone
		fields, _, _ := parser.ParseSchemalessResource(map[string]any{"text": input.Text})
		for _, field := range fields {
			answer["built"] = field.Expression.Original
		}
		return answer, nil
	}, nil
}

// newInfer answers with what an expression refers to, given the known ids.
func newInfer() (subcommand, error) {
	return func(line []byte) (any, error) {
		var input struct {
			Expr string   `json:"expr"`
			IDs  []string `json:"ids"`
		}
		if err := json.Unmarshal(line, &input); err != nil {
			return nil, err
		}
		env, err := cel.DefaultEnvironment(cel.WithResourceIDs(input.IDs))
		if err != nil {
			return nil, err
		}
		answer := map[string]any{"expr": input.Expr, "ids": input.IDs}
		found, err := ast.NewInspectorWithEnv(env, input.IDs).Inspect(input.Expr)
		if err != nil {
			answer["error"] = err.Error()
			return answer, nil
		}
		references := []map[string]string{}
		for _, known := range found.ResourceDependencies {
			references = append(references, map[string]string{"id": known.ID, "path": known.Path})
		}
		unknown := []string{}
		for _, name := range found.UnknownResources {
			unknown = append(unknown, name.ID)
		}
		functions := []string{}
		for _, function := range found.UnknownFunctions {
			functions = append(functions, function.Name)
		}
		answer["references"] = references
		answer["unknown"] = unknown
		answer["unknownFunctions"] = functions
		answer["omit"] = found.UsesOmit()
		return answer, nil
	}, nil
}
