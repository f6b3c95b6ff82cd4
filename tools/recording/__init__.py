"""
What a real API server answers, recorded for tests to play again to the embedded one.

    tools/kube/build.sh etcd kube-apiserver kube-controller-manager
    python -m tools.recording.NAME [--kubeconfig FILE] [--data FOLDER]

Each recorder starts a control plane of its own and writes its file where the tests read it.
`--kubeconfig`, or `KUBECONFIG`, names one that runs already (`python -m tools.cluster` starts one;
only a server on this machine is asked), `--data` another folder.

Recorders, and what they write to `packages/kube-sandbox/tests/unit/`:

    api_answers   discovery and OpenAPI documents; who is refused what    data/api_*
    bodies        objects in protobuf and in JSON                         data/api_bodies
    patches       JSON, merge and strategic merge patches; selectors      data/patches
    tables        the rows of tables; their columns, for the package      data/tables
    apply         server-side apply among other writes: who owns what     managedfields/cases
    builtins      built-in kinds, good and bad                            builtins/data/recorded
    workloads     pods and what makes them, good and bad                  builtins/data/workloads
    pod_security  pods by the Pod Security Standards of all versions      plugins/data/pod_security
    custom        definitions and custom objects, good and bad            custom/recorded
    rule_costs    what validation rules are thought to cost               custom/rule_costs
    rollouts      what Deployments and StatefulSets do, step by step      data/rollouts

On a new version of Kubernetes: first all of `tools.package_data`, whose catalogue `builtins` reads;
then all recorders, in any order; then `pytest packages/kube-sandbox`, whose failures are what has
changed. `api_answers` and `bodies` want a server that nobody has used; the others clear up behind
them. What differs from run to run (uids, times, versions, here and there the order) is left out or
does not matter to the tests.
"""
