//go:build tools

// Package helm pins the helm that tests render the chart with.
//
// It is a module of its own, so that what helm requires does not change the versions that the
// Kubernetes binaries are built with. Nothing is compiled from this package itself.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
