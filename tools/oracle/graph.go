package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubernetes-sigs/kro/api/v1alpha1"
	krocel "github.com/kubernetes-sigs/kro/pkg/cel"
	"github.com/kubernetes-sigs/kro/pkg/features"
	"github.com/kubernetes-sigs/kro/pkg/graph"
	"github.com/kubernetes-sigs/kro/pkg/graph/variable"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// How often a definition is built to find outcomes that depend on Go's random
// map order: that decides above all which of several errors is met first. All
// error texts seen are listed under "varies".
const (
	acceptedBuilds = 10
	refusedBuilds  = 100
)

// The defaults of kro's command line.
var limits = graph.RGDConfig{MaxCollectionSize: 1000, MaxCollectionDimensionSize: 10}

type graphCase struct {
	ID       string                           `json:"id"`
	RGD      json.RawMessage                  `json:"rgd"`
	CRDs     []extv1.CustomResourceDefinition `json:"crds"`
	Features map[string]bool                  `json:"features"`
}

func newGraph() (subcommand, error) {
	kubernetes, err := loadBuiltins()
	if err != nil {
		return nil, err
	}
	var shared []extv1.CustomResourceDefinition
	return func(line []byte) (any, error) {
		var input graphCase
		if err := json.Unmarshal(line, &input); err != nil {
			return nil, err
		}
		if input.RGD == nil {
			shared = input.CRDs
			return answer{"shared": len(shared)}, nil
		}
		cluster, err := kubernetes.with(slices.Concat(shared, input.CRDs))
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", input.ID, err)
		}
		return buildOften(input, cluster)
	}, nil
}

func buildOften(input graphCase, cluster *cluster) (answer, error) {
	if err := setFeatures(input.Features); err != nil {
		return nil, fmt.Errorf("case %s: %w", input.ID, err)
	}
	ask := func() (answer, error) { return build(input, cluster) }
	distinct, err := repeated(acceptedBuilds, ask)
	if err == nil && distinct[0]["ok"] == false {
		distinct, err = repeated(refusedBuilds, ask)
	}
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", input.ID, err)
	}
	if len(distinct) > 1 {
		errors := []any{}
		for _, one := range distinct {
			errors = append(errors, one["error"])
		}
		distinct[0]["varies"] = errors
	}
	return distinct[0], nil
}

// setFeatures sets every feature gate, as the case wants it or to its default.
func setFeatures(wanted map[string]bool) error {
	gates := map[string]bool{}
	for name, gate := range features.FeatureGate.GetAll() {
		gates[string(name)] = gate.Default
	}
	maps.Copy(gates, wanted)
	return features.FeatureGate.SetFromMap(gates)
}

func build(input graphCase, cluster *cluster) (found answer, err error) {
	var definition v1alpha1.ResourceGraphDefinition
	if err := json.Unmarshal(input.RGD, &definition); err != nil {
		return nil, err
	}
	applyDefaults(&definition)
	builder, err := graph.NewBuilder(nil, nil,
		graph.WithSchemaResolver(cluster.schemas), graph.WithRESTMapper(cluster.mapper))
	if err != nil {
		return nil, err
	}
	defer func() {
		if crash := recover(); crash != nil {
			found = answer{"id": input.ID, "ok": false, "panic": fmt.Sprint(crash)}
		}
	}()
	built, err := builder.NewResourceGraphDefinition(&definition, limits)
	if err != nil {
		return answer{"id": input.ID, "ok": false, "error": err.Error()}, nil
	}
	return describe(input.ID, built)
}

// applyDefaults does what the API server does when the object is written.
func applyDefaults(definition *v1alpha1.ResourceGraphDefinition) {
	schema := definition.Spec.Schema
	if schema == nil {
		return
	}
	if schema.Group == "" {
		schema.Group = v1alpha1.KRODomainName
	}
	if schema.Scope == "" {
		schema.Scope = v1alpha1.ResourceScopeNamespaced
	}
}

func describe(id string, built *graph.Graph) (answer, error) {
	crd, err := plainCRD(built.CRD)
	if err != nil {
		return nil, err
	}
	resources := []map[string]any{}
	for _, node := range built.Nodes {
		resources = append(resources, describeNode(node))
	}
	slices.SortFunc(resources, func(a, b map[string]any) int {
		return cmp.Compare(built.Nodes[a["id"].(string)].Meta.Index, built.Nodes[b["id"].(string)].Meta.Index)
	})
	return answer{
		"id":         id,
		"ok":         true,
		"order":      append([]string{}, built.TopologicalOrder...),
		"waves":      built.ApplyOrders,
		"plural":     built.CRD.Spec.Names.Plural,
		"crd":        crd,
		"resources":  resources,
		"status":     describeFields(built.Instance.Variables),
		"conditions": texts(built.Instance.Conditions),
	}, nil
}

// plainCRD is the CRD without the empty fields Go adds when it prints one.
func plainCRD(crd *extv1.CustomResourceDefinition) (map[string]any, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok && metadata["creationTimestamp"] == nil {
		delete(metadata, "creationTimestamp")
	}
	return object, nil
}

// describeNode sorts what kro collects while walking maps: the fields and the
// dependencies come in random order upstream.
func describeNode(node *graph.Node) map[string]any {
	description := map[string]any{
		"id":           node.Meta.ID,
		"type":         node.Meta.Type.String(),
		"resource":     node.Meta.GVR.Resource,
		"namespaced":   node.Meta.Namespaced,
		"dependencies": sorted(node.Meta.Dependencies),
		"variables":    describeFields(node.Variables),
	}
	if len(node.ForEach) > 0 {
		var dimensions []map[string]string
		for _, dimension := range node.ForEach {
			dimensions = append(dimensions, map[string]string{dimension.Name: dimension.Expression.Original})
		}
		description["forEach"] = dimensions
	}
	if len(node.IncludeWhen) > 0 {
		description["includeWhen"] = texts(node.IncludeWhen)
	}
	if len(node.ReadyWhen) > 0 {
		description["readyWhen"] = texts(node.ReadyWhen)
	}
	return description
}

func describeFields(fields []*variable.ResourceField) []map[string]any {
	found := []map[string]any{}
	for _, field := range fields {
		found = append(found, map[string]any{
			"path":        field.Path,
			"expressions": []string{field.Expression.Original},
			"kind":        string(field.Kind),
			"standalone":  field.Expression.OriginalTemplate == "",
			"references":  sorted(field.Expression.References),
		})
	}
	slices.SortFunc(found, func(a, b map[string]any) int {
		return strings.Compare(a["path"].(string), b["path"].(string))
	})
	return found
}

// sorted copies names into a slice that is never nil: JSON shall say [], not null.
func sorted(names []string) []string {
	copied := append([]string{}, names...)
	slices.Sort(copied)
	return copied
}

func texts(expressions []*krocel.Expression) []string {
	found := []string{}
	for _, expression := range expressions {
		found = append(found, expression.Original)
	}
	return found
}
