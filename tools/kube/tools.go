//go:build tools

// Package kube pins the Kubernetes binaries that tools and tests run for real.
//
// Nothing is compiled from this package itself: the imports keep `go mod tidy` from
// dropping the modules that `build.sh` builds the commands from.
package kube

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
