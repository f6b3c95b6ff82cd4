#!/bin/sh
# Build kro's own controller, which scenarios can be run on instead of ours.
#
#   tools/kro/build.sh
#
# The controller goes to $KRO_HOME/bin, its CRDs to $KRO_HOME/crds (by default below
# ~/.cache/kro-gitops/kro). What is there in the right version is left alone; the version is
# that of go.mod. Needs Go 1.26 and, the first time, the network and minutes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
home=${KRO_HOME:-$HOME/.cache/kro-gitops/kro}
module=github.com/kubernetes-sigs/kro
controller=$home/bin/kro-controller

fail() {
    echo "build.sh: $*" >&2
    exit 1
}

wanted=$(awk -v module="$module" '{ sub(/^require /, "") } $1 == module { print $2; exit }' "$here/go.mod")
[ -n "$wanted" ] || fail "go.mod requires no $module"
if [ -x "$controller" ] && [ "$(cat "$home/version" 2>/dev/null)" = "$wanted" ]; then
    echo "$controller: $wanted is there"
    exit 0
fi
command -v go >/dev/null || fail "Go is not installed; it is needed to build kro (see https://go.dev/dl/)"

echo "$controller: building $wanted, this takes minutes the first time"
mkdir -p "$home/bin"
# The controller itself cannot say its version, so a file beside it does, written last: a build
# cut short is done again.
rm -f "$home/version"
cd "$here"
CGO_ENABLED=0 go build -trimpath \
    -ldflags "-s -w -X sigs.k8s.io/release-utils/version.gitVersion=$wanted" \
    -o "$home/bin/.kro-controller.new" "$module/cmd/controller" || fail "building $wanted failed"
mv "$home/bin/.kro-controller.new" "$controller"

source=$(go list -m -f '{{.Dir}}' "$module")
rm -rf "$home/crds"
mkdir -p "$home/crds"
cp "$source"/helm/crds/*.yaml "$home/crds"/
chmod -R u+w "$home/crds"
echo "$wanted" >"$home/version"
