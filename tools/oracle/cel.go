package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	krocel "github.com/kubernetes-sigs/kro/pkg/cel"
	"github.com/kubernetes-sigs/kro/pkg/cel/library"
	"github.com/kubernetes-sigs/kro/pkg/cel/unstructured"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	// A map of two comes in its rarer order once in eight times.
	evaluations = 100
	patience    = 20 * time.Second
)

// resultKeys are written by the oracle; what an input line has there is dropped.
var resultKeys = []string{"outcome", "type", "value", "go", "error", "pending", "order"}

// expressionSet is what the expressions below an opening line can see.
type expressionSet struct {
	env  *cel.Env
	data map[string]any
}

func newCEL() (subcommand, error) {
	open, err := openSet(nil, nil)
	if err != nil {
		return nil, err
	}
	return func(line []byte) (any, error) {
		fields, err := decodeObject(line)
		if err != nil {
			return nil, err
		}
		expression, isExpression := fields["expr"].(string)
		if !isExpression {
			var opening struct {
				Schemas map[string]*spec.Schema `json:"schemas"`
			}
			if err := json.Unmarshal(line, &opening); err != nil {
				return nil, err
			}
			data, _ := fields["data"].(map[string]any)
			if open, err = openSet(opening.Schemas, data); err != nil {
				return nil, err
			}
			return json.RawMessage(line), nil
		}
		for _, key := range resultKeys {
			delete(fields, key)
		}
		maps.Copy(fields, open.ask(expression))
		return fields, nil
	}, nil
}

// openSet builds the environment kro gives to templates: typed variables where
// there is a schema, variables of type any elsewhere.
func openSet(schemas map[string]*spec.Schema, data map[string]any) (*expressionSet, error) {
	var untyped []string
	// Conditions see this variable; templates never get so far (see "graph").
	values := map[string]any{library.RuntimeVarName: library.RuntimeSingleton}
	for name, value := range data {
		if schema, typed := schemas[name]; typed {
			values[name] = unstructured.UnstructuredToVal(value, &openapi.Schema{Schema: schema})
		} else {
			values[name] = value
			untyped = append(untyped, name)
		}
	}
	env, err := krocel.DefaultEnvironment(krocel.WithTypedResources(schemas), krocel.WithResourceIDs(untyped))
	if err != nil {
		return nil, err
	}
	return &expressionSet{env: env, data: values}, nil
}

// ask guards against what kro itself does not guard against: an expression
// that never ends or crashes the evaluator.
func (s *expressionSet) ask(expression string) answer {
	answers := make(chan answer, 1)
	go func() {
		defer func() {
			if crash := recover(); crash != nil {
				answers <- answer{"outcome": "panic", "error": fmt.Sprint(crash)}
			}
		}()
		answers <- s.compileAndEvaluate(expression)
	}()
	select {
	case found := <-answers:
		return found
	case <-time.After(patience):
		return answer{"outcome": "timeout"}
	}
}

func (s *expressionSet) compileAndEvaluate(expression string) answer {
	parsed, issues := s.env.Parse(expression)
	if issues.Err() != nil {
		return answer{"outcome": "parse", "error": issues.Err().Error()}
	}
	checked, issues := s.env.Check(parsed)
	if issues.Err() != nil {
		return answer{"outcome": "check", "error": issues.Err().Error()}
	}
	printed := checked.OutputType().String()
	distinct, err := repeated(evaluations, func() (answer, error) {
		return s.planAndEvaluate(expression, checked), nil
	})
	if err != nil {
		return answer{"outcome": "unprintable", "type": printed, "error": err.Error()}
	}
	found := distinct[0]
	found["type"] = printed
	if len(distinct) > 1 {
		found["order"] = "varies"
	}
	return found
}

// planAndEvaluate plans anew each time: the planner folds constant maps, and
// with them their order, into the program.
func (s *expressionSet) planAndEvaluate(expression string, checked *cel.Ast) answer {
	program, err := s.env.Program(checked)
	if err != nil {
		return answer{"outcome": "build", "error": err.Error()}
	}
	return s.evaluate(&krocel.Expression{Original: expression, Program: program})
}

func (s *expressionSet) evaluate(expression *krocel.Expression) answer {
	value, err := expression.Eval(s.data)
	if err != nil {
		return failure(expression.Original, err)
	}
	text, encodingError := encode(value)
	var unsupported *json.UnsupportedValueError
	if errors.As(encodingError, &unsupported) || holdsOmit(value) {
		return answer{"outcome": "ok", "go": fmt.Sprintf("%#v", value)}
	}
	return answer{"outcome": "ok", "value": json.RawMessage(text)}
}

// failure tells evaluation from conversion by the prefix kro puts before each.
func failure(expression string, err error) answer {
	text := err.Error()
	if rest, evaluating := strings.CutPrefix(text, fmt.Sprintf("eval %q: ", expression)); evaluating {
		return answer{"outcome": "eval", "error": rest, "pending": isPending(err)}
	}
	return answer{"outcome": "convert", "error": text}
}
