#!/bin/sh
# Build the Kubernetes binaries that tools and tests run for real.
#
#   tools/kube/build.sh [etcd] [kube-apiserver] [kube-controller-manager] [kubectl] [helm]
#
# Without names, all of Kubernetes, which is all but helm. They go to $KUBE_BIN (by default
# ~/.cache/kro-gitops/kube/bin); one that is there in the right version is left alone. The versions
# are those of go.mod, and of helm/go.mod.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
bin=${KUBE_BIN:-$HOME/.cache/kro-gitops/kube/bin}

fail() {
    echo "build.sh: $*" >&2
    exit 1
}

# The version a go.mod requires of a module, without the v.
required() {
    version=$(sed 's/^require //' "$2/go.mod" |
        awk -v module="$1" '$1 == module { print substr($2, 2); exit }')
    [ -n "$version" ] || fail "$2/go.mod requires no $1"
    echo "$version"
}

package_of() {
    case $1 in
        etcd) echo go.etcd.io/etcd/server/v3 ;;
        kube-apiserver | kube-controller-manager | kubectl) echo "k8s.io/kubernetes/cmd/$1" ;;
        helm) echo helm.sh/helm/v3/cmd/helm ;;
        *) fail "unknown binary '$1'; there are etcd, kube-apiserver, kube-controller-manager, kubectl, helm" ;;
    esac
}

# The version a binary says it has; empty if it does not run.
built() {
    case $1 in
        etcd) "$bin/etcd" --version | sed -n 's/^etcd Version: //p' ;;
        kubectl) "$bin/kubectl" version --client | sed -n 's/^Client Version: v//p' ;;
        helm) "$bin/helm" version --template '{{ .Version }}' | sed 's/^v//' ;;
        *) "$bin/$1" --version | sed -n 's/^Kubernetes v//p' ;;
    esac 2>/dev/null
}

build() {
    package=$(package_of "$1")
    module=$here
    wanted=$kubernetes
    says=k8s.io/component-base/version.gitVersion
    case $1 in
        etcd) wanted=$etcd ;;
        helm) module=$here/helm wanted=$helm says=helm.sh/helm/v3/internal/version.version ;;
    esac
    if [ -x "$bin/$1" ] && [ "$(built "$1")" = "$wanted" ]; then
        echo "$bin/$1: $wanted is there"
        return
    fi
    command -v go >/dev/null || fail "Go is not installed; it is needed to build $1 (see https://go.dev/dl/)"
    echo "$bin/$1: building $wanted, this takes minutes the first time"
    # Built beside its place and moved, so that a build cut short leaves nothing half done.
    (cd "$module" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X $says=v$wanted" \
        -o "$bin/.$1.new" "$package") || fail "building $1 failed"
    mv "$bin/.$1.new" "$bin/$1"
    [ "$(built "$1")" = "$wanted" ] || fail "$bin/$1 does not say it is $wanted"
}

kubernetes=$(required k8s.io/kubernetes "$here")
etcd=$(required go.etcd.io/etcd/server/v3 "$here")
helm=$(required helm.sh/helm/v3 "$here/helm")
[ $# -gt 0 ] || set -- etcd kube-apiserver kube-controller-manager kubectl
for name in "$@"; do
    package_of "$name" >/dev/null
done
mkdir -p "$bin"
for name in "$@"; do
    build "$name"
done
