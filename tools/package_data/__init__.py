"""
Generate what the packages know about one version of Kubernetes.

    tools/kube/build.sh etcd kube-apiserver
    python -m tools.package_data.NAME [--data FOLDER]

On a new version (the one that `tools/kube/go.mod` names), in this order, since the later ones read
what the first one writes:

    catalog          the built-in kinds and their schemas, as an API server publishes them
    documents        discovery, OpenAPI documents and own objects of an API server
    messages         the fields of protobuf messages, from the Go sources
    typed_form       how Go reads and writes the built-in kinds, from the Go types
    internal_types   how internal types are printed in messages, from the Go sources

The same Kubernetes gives the same bytes. `tools.recording` comes next; its `tables` also writes
`packages/kube-sandbox/src/kube_sandbox/tables/columns.json.zlib`, which the package ships.
"""
