// Command oracle answers with kro's own code what kro makes of an expression, a
// string, a schema or a definition, so that our engine can be compared with it.
//
// It reads JSON lines from standard input and writes one JSON line for each to
// standard output. It is a development tool and no part of the product.
package main

import (
	"fmt"
	"os"
	"strings"
)

// A subcommand turns one input line into one output line. Subcommands with a
// memory between lines (the open set of expressions, the shared CRDs) are
// closures over it.
type subcommand func(line []byte) (any, error)

var subcommands = map[string]func() (subcommand, error){
	"cel":    newCEL,
	"compat": newCompat,
	"graph":  newGraph,
	"infer":  newInfer,
	"scan":   newScan,
	"schema": newSchema,
}

const usage = `usage: oracle cel|graph|schema|compat|scan|infer < lines > answers

  cel     {"set","schemas","data"} opens a set; {"expr"} is checked and evaluated in it
  graph   {"crds"} is shared by the lines below; {"id","rgd","crds","features"} is built
  schema  {"spec","types"} becomes OpenAPI
  compat  {"old","new"}, two CRDs: which changes are breaking
  scan    {"text"}: the expressions in a string
  infer   {"expr","ids"}: what an expression refers to
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(64)
	}
	open, known := subcommands[strings.TrimSpace(os.Args[1])]
	if !known {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(64)
	}
	command, err := open()
	if err == nil {
		err = answerLines(os.Stdin, os.Stdout, command)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}
