package main

import (
	_ "unsafe" // for go:linkname

	_ "github.com/kubernetes-sigs/kro/pkg/runtime"
)

// isPending is kro's own test of whether an evaluation error means "data not
// there yet". kro does not export it; linking to it beats keeping a copy.
//
//go:linkname isPending github.com/kubernetes-sigs/kro/pkg/runtime.isCELDataPending
func isPending(err error) bool
