#!/bin/sh
# Build the oracle, once: kro's own code behind JSON lines (see main.go).
#
#   ORACLE_BIN           where the binary goes; the OpenAPI documents of Kubernetes,
#                        which the graph builder needs, go into openapi/ beside it
#   KUBERNETES_VERSION   whose built-in kinds the oracle knows
#
# Needs Go 1.26 and, the first time, the network and several minutes.
set -eu

binary=${ORACLE_BIN:-$HOME/.cache/kro-gitops/oracle/oracle}
kubernetes=${KUBERNETES_VERSION:-v1.35.4}
sources=$(cd "$(dirname "$0")" && pwd)

if ! command -v go >/dev/null 2>&1; then
    echo "build.sh: Go is not installed; the oracle needs Go 1.26 or later (https://go.dev/dl)" >&2
    exit 1
fi

documents=$(dirname "$binary")/openapi
mkdir -p "$(dirname "$binary")"
(cd "$sources" && go build -o "$binary" .)

if [ "$(cat "$documents.version" 2>/dev/null)" != "$kubernetes" ]; then
    # Only its published API documents are wanted, so it is no requirement in go.mod.
    module=$(cd "$sources" && go mod download -json "k8s.io/kubernetes@$kubernetes" |
        sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
    rm -rf "$documents"
    mkdir -p "$documents"
    cp "$module"/api/openapi-spec/v3/api*__v*_openapi.json "$documents"/
    chmod -R u+w "$documents"
    echo "$kubernetes" >"$documents.version"
fi
echo "$binary"
