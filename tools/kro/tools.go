//go:build tools

// Package kro pins the controller that scenarios are compared with.
//
// Nothing is compiled from this package itself: the import names what `build.sh` builds.
// It is a command, which no package may import, so `go mod tidy` needs the packages below it.
package kro

import (
	_ "github.com/kubernetes-sigs/kro/pkg/controller/graphrevision"
	_ "github.com/kubernetes-sigs/kro/pkg/controller/resourcegraphdefinition"
)
