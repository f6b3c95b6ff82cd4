package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	extopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// documents stands in for the discovery client of a cluster: kro's resolver
// asks it for nothing but the OpenAPI documents.
type documents struct {
	discovery.DiscoveryInterface
	openapi.Client
}

func (d documents) OpenAPIV3() openapi.Client { return d.Client }

// cluster is what the graph builder needs of one: schemas and REST mappings,
// those of Kubernetes itself and those of the CRDs installed.
type cluster struct {
	schemas resolver.SchemaResolver
	mapper  meta.RESTMapper
}

// builtins are the kinds of Kubernetes, read once: OpenAPI documents as an API
// server publishes them, by path, and what they tell about scope and plural.
type builtins struct {
	paths    map[string]openapi.GroupVersion
	mappings []mapping
	compiled *resolver.DefinitionsSchemaResolver
	resolved map[schema.GroupVersionKind]*spec.Schema
}

type mapping struct {
	kind     schema.GroupVersionKind
	plural   string
	singular string
	scope    meta.RESTScope
}

func loadBuiltins() (*builtins, error) {
	directory, err := documentDirectory()
	if err != nil {
		return nil, err
	}
	paths, err := openapitest.NewFileClient(directory).Paths()
	if err != nil {
		return nil, fmt.Errorf("OpenAPI documents of Kubernetes: %w", err)
	}
	b := &builtins{
		paths: paths,
		// The same two sources, in the same order, as kro's own resolver.
		compiled: resolver.NewDefinitionsSchemaResolver(extopenapi.GetOpenAPIDefinitions, scheme.Scheme),
		resolved: map[schema.GroupVersionKind]*spec.Schema{},
	}
	for _, document := range paths {
		found, err := mappingsOf(document)
		if err != nil {
			return nil, err
		}
		b.mappings = append(b.mappings, found...)
	}
	return b, nil
}

// documentDirectory is ORACLE_OPENAPI or, as build.sh leaves it, beside the binary.
func documentDirectory() (string, error) {
	if directory := os.Getenv("ORACLE_OPENAPI"); directory != "" {
		return directory, nil
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(program), "openapi"), nil
}

// mappingsOf reads kinds, plurals and scopes off the paths that create objects.
func mappingsOf(document openapi.GroupVersion) ([]mapping, error) {
	text, err := document.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil, err
	}
	var content struct {
		Paths map[string]struct {
			Post *struct {
				Kind schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
			} `json:"post"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	var found []mapping
	for path, operations := range content.Paths {
		last := path[strings.LastIndex(path, "/")+1:]
		subresource := strings.Contains(path, "{name}")
		if operations.Post == nil || subresource || operations.Post.Kind.Kind == "" {
			continue
		}
		scope := meta.RESTScopeRoot
		if strings.Contains(path, "/namespaces/{namespace}/") {
			scope = meta.RESTScopeNamespace
		}
		kind := operations.Post.Kind
		found = append(found, mapping{kind, last, strings.ToLower(kind.Kind), scope})
	}
	return found, nil
}

// with returns a cluster of the built-in kinds and the given CRDs.
func (b *builtins) with(crds []extv1.CustomResourceDefinition) (*cluster, error) {
	mappings := b.mappings
	published := map[string]openapi.GroupVersion{}
	for i := range crds {
		crd := &crds[i]
		completeNames(crd)
		for _, version := range crd.Spec.Versions {
			path := fmt.Sprintf("apis/%s/%s", crd.Spec.Group, version.Name)
			document, err := publish(crd, version.Name)
			if err != nil {
				return nil, fmt.Errorf("CRD %s: %w", crd.Name, err)
			}
			if published[path], err = mergeDocuments(published[path], document); err != nil {
				return nil, fmt.Errorf("CRD %s: %w", crd.Name, err)
			}
			mappings = append(mappings, mappingOf(crd, version.Name))
		}
	}
	all := maps.Clone(b.paths)
	maps.Copy(all, published)
	live := &resolver.ClientDiscoveryResolver{
		Discovery: documents{Client: &openapitest.FakeClient{PathsMap: all}},
	}
	return &cluster{
		schemas: b.compiled.Combine(&remembering{live, b, published}),
		mapper:  mapperOf(mappings),
	}, nil
}

// remembering keeps resolved built-in schemas from case to case: resolving the
// references of a Pod anew each time would take most of the run.
type remembering struct {
	live      resolver.SchemaResolver
	builtins  *builtins
	published map[string]openapi.GroupVersion
}

func (r *remembering) ResolveSchema(kind schema.GroupVersionKind) (*spec.Schema, error) {
	if known, found := r.builtins.resolved[kind]; found {
		return known, nil
	}
	found, err := r.live.ResolveSchema(kind)
	_, custom := r.published[fmt.Sprintf("apis/%s/%s", kind.Group, kind.Version)]
	if err == nil && !custom {
		r.builtins.resolved[kind] = found
	}
	return found, err
}

// publish makes the OpenAPI document an API server would serve for a CRD.
func publish(crd *extv1.CustomResourceDefinition, version string) ([]byte, error) {
	document, err := crdopenapi.BuildOpenAPIV3(crd, version, crdopenapi.Options{V2: false})
	if err != nil {
		return nil, err
	}
	return json.Marshal(document)
}

// mergeDocuments joins the component schemas of two CRDs of one group and version.
func mergeDocuments(first openapi.GroupVersion, second []byte) (openapi.GroupVersion, error) {
	type content struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	var joined content
	if err := json.Unmarshal(second, &joined); err != nil {
		return nil, err
	}
	if first != nil {
		text, err := first.Schema(runtime.ContentTypeJSON)
		if err != nil {
			return nil, err
		}
		var earlier content
		if err := json.Unmarshal(text, &earlier); err != nil {
			return nil, err
		}
		maps.Copy(joined.Components.Schemas, earlier.Components.Schemas)
	}
	text, err := json.Marshal(joined)
	return &openapitest.FakeGroupVersion{GVSpec: text}, err
}

// completeNames fills in what the API server defaults and an author leaves out.
func completeNames(crd *extv1.CustomResourceDefinition) {
	names := &crd.Spec.Names
	if names.Singular == "" {
		names.Singular = strings.ToLower(names.Kind)
	}
	if names.ListKind == "" {
		names.ListKind = names.Kind + "List"
	}
}

func mappingOf(crd *extv1.CustomResourceDefinition, version string) mapping {
	scope := meta.RESTScopeNamespace
	if crd.Spec.Scope == extv1.ClusterScoped {
		scope = meta.RESTScopeRoot
	}
	kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind}
	return mapping{kind, crd.Spec.Names.Plural, crd.Spec.Names.Singular, scope}
}

func mapperOf(mappings []mapping) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, one := range mappings {
		version := one.kind.GroupVersion()
		mapper.AddSpecific(
			one.kind,
			version.WithResource(one.plural),
			version.WithResource(one.singular),
			one.scope,
		)
	}
	return mapper
}
