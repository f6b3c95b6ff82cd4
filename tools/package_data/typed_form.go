// Command typed_form prints what Go's JSON decoder and encoder know of the built-in kinds: the
// fields of every struct, their types, and what an encoder writes of a field that holds nothing.
//
// It reads "group/version kind" lines from standard input and prints one JSON document. It is run
// by typed_form.py, with the module that pins Kubernetes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Types that read and write themselves.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":       "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":  "micro",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":   "duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":   "raw",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":    "raw",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":   "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString": "intstr",
}

type field struct {
	Name  string
	Type  int
	Omit  string // "" never, "empty" or "zero"
	Where string // names of the embedded structs it comes from, as an error tells them
}

type node struct {
	Kind   string          // string, bool, int32, …, bytes, pointer, list, map, struct, time, …
	Shown  string          // as Go prints the type
	Elem   int             `json:",omitempty"`
	Fields []field         `json:",omitempty"`
	Zero   json.RawMessage `json:",omitempty"` // what is written of a struct that holds nothing
}

type table struct {
	Nodes []*node
	Kinds map[string]int
	seen  map[reflect.Type]int
}

func main() {
	must(apiextensionsv1.AddToScheme(scheme.Scheme))
	must(apiregistrationv1.AddToScheme(scheme.Scheme))
	found := table{Kinds: map[string]int{}, seen: map[reflect.Type]int{}}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		version, kind, _ := strings.Cut(lines.Text(), " ")
		gv, err := schema.ParseGroupVersion(version)
		must(err)
		object, err := scheme.Scheme.New(gv.WithKind(kind))
		must(err)
		found.Kinds[lines.Text()] = found.of(reflect.TypeOf(object).Elem())
	}
	must(json.NewEncoder(os.Stdout).Encode(found))
}

func (t *table) of(typ reflect.Type) int {
	if index, ok := t.seen[typ]; ok {
		return index
	}
	index := len(t.Nodes)
	made := &node{Shown: typ.String()}
	t.seen[typ] = index
	t.Nodes = append(t.Nodes, made)
	t.fill(made, typ)
	return index
}

func (t *table) fill(made *node, typ reflect.Type) {
	if kind, ok := special[typ.PkgPath()+"."+typ.Name()]; ok {
		made.Kind = kind
		return
	}
	if reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		// Schemas in definitions of custom resources: one, several, or a word of JSON.
		made.Kind = "any"
		if strings.HasPrefix(typ.Name(), "JSONSchemaPropsOr") {
			made.Elem = t.of(reflect.TypeFor[apiextensionsv1.JSONSchemaProps]())
		}
		return
	}
	switch typ.Kind() {
	case reflect.Pointer:
		made.Kind, made.Elem = "pointer", t.of(typ.Elem())
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			made.Kind = "bytes"
			return
		}
		made.Kind, made.Elem = "list", t.of(typ.Elem())
	case reflect.Map:
		if typ.Key().Kind() != reflect.String {
			panic(fmt.Sprint("a map by other than text: ", typ))
		}
		made.Kind, made.Elem = "map", t.of(typ.Elem())
	case reflect.Struct:
		made.Kind = "struct"
		zero, err := json.Marshal(reflect.Zero(typ).Interface())
		must(err)
		made.Zero = zero
		made.Fields = t.fields(typ, "")
	default:
		made.Kind = typ.Kind().String()
	}
}

func (t *table) fields(typ reflect.Type, where string) []field {
	var found []field
	for i := range typ.NumField() {
		each := typ.Field(i)
		name, options, _ := strings.Cut(each.Tag.Get("json"), ",")
		if name == "-" || !each.IsExported() {
			continue
		}
		if each.Anonymous && name == "" {
			if each.Type.Kind() == reflect.Pointer {
				panic(fmt.Sprint("an embedded pointer: ", typ))
			}
			found = append(found, t.fields(each.Type, where+each.Name+".")...)
			continue
		}
		if name == "" {
			panic(fmt.Sprint("a field without a tag: ", typ, each.Name))
		}
		omit := ""
		if strings.Contains(options, "omitempty") {
			omit = "empty"
		}
		if strings.Contains(options, "omitzero") {
			omit = "zero"
		}
		found = append(found, field{name, t.of(each.Type), omit, where})
	}
	return found
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "typed_form:", err)
		os.Exit(1)
	}
}
