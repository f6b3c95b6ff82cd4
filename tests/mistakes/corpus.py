"""
Mistakes of every sort: a right manifest, what is replaced in it, and where the mistake is found.

`code` and `at` are what `validate` and `run` both report: the code, and the words that stand at the
place. A case is one file of a repository.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.mistakes.templates import (
    BUCKET,
    CLAIM,
    CONFIG,
    CRD,
    CRON_JOB,
    DEFINITION,
    DEPLOYMENT,
    INGRESS,
    INSTANCE,
    NAMESPACE,
    POLICY,
    QUOTA,
    ROLE,
    ROLE_BINDING,
    SCALER,
    SECRET,
    SERVICE,
    SOURCE,
    STATEFUL_SET,
)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A manifest with a mistake, numbered by its position in the corpus."""

    number: int
    code: str
    at: str
    text: str

    @property
    def file(self) -> str:
        """Return the name of its file."""
        return f"case-{self.number:03}.yaml"


_LONG = "n" * 61

# code, the words at its place, the right manifest, what is replaced and by what
_CASES: tuple[tuple[str, str, str, str, str], ...] = (
    # Kinds and versions
    ("unknown-kind", "ConfigMpa", CONFIG, "ConfigMap", "ConfigMpa"),
    ("unknown-kind", "apps/v1beta1", DEPLOYMENT, "apps/v1", "apps/v1beta1"),
    ("unknown-kind", "app/v1", DEPLOYMENT, "apps/v1", "app/v1"),
    ("unknown-kind", "v1", DEPLOYMENT, "apps/v1", "v1"),
    ("unknown-kind", "Deploymnet", DEPLOYMENT, "kind: Deployment", "kind: Deploymnet"),
    ("unknown-kind", "deployment", DEPLOYMENT, "kind: Deployment", "kind: deployment"),
    ("unknown-kind", "extensions/v1beta1", INGRESS, "networking.k8s.io/v1", "extensions/v1beta1"),
    ("unknown-kind", "autoscaling/v2beta2", SCALER, "autoscaling/v2", "autoscaling/v2beta2"),
    ("unknown-kind", "batch/v1beta1", CRON_JOB, "batch/v1", "batch/v1beta1"),
    (
        "unknown-kind",
        "cert-manager.io/v1",
        CONFIG,
        "v1\nkind: ConfigMap",
        "cert-manager.io/v1\nkind: Certificate",
    ),
    ("unknown-kind", "kro.run/v1alpha2", DEFINITION, "kro.run/v1alpha1", "kro.run/v1alpha2"),
    ("unknown-kind", "kro.rum/v1alpha1", DEFINITION, "kro.run/v1alpha1", "kro.rum/v1alpha1"),
    (
        "unknown-kind",
        "ResourceGraphDefinitions",
        DEFINITION,
        "kind: ResourceGraphDefinition",
        "kind: ResourceGraphDefinitions",
    ),
    ("unknown-kind", "v1", INSTANCE, "---\napiVersion: kro.run/v1alpha1", "---\napiVersion: v1"),
    (
        "unknown-kind",
        "kro.run/v1alpha2",
        INSTANCE,
        "---\napiVersion: kro.run/v1alpha1",
        "---\napiVersion: kro.run/v1alpha2",
    ),
    (
        "unknown-kind",
        "Ap@",
        INSTANCE,
        "---\napiVersion: kro.run/v1alpha1\nkind: App@",
        "---\napiVersion: kro.run/v1alpha1\nkind: Ap@",
    ),
    ("unknown-kind", "GitSorce", SOURCE, "GitSource", "GitSorce"),
    ("unknown-kind", "gitops.kro.run/v1", SOURCE, "gitops.kro.run/v1alpha1", "gitops.kro.run/v1"),
    ("unknown-kind", "c@.example.com/v2", BUCKET, "c@.example.com/v1", "c@.example.com/v2"),
    ("unknown-kind", "Orphan@", CONFIG, "v1\nkind: ConfigMap", "kro.run/v1alpha1\nkind: Orphan@"),
    # Fields and types of built-in kinds
    ("unknown-field", "templte", DEPLOYMENT, "  template:", "  templte: {}\n  template:"),
    ("wrong-type", '"3"', DEPLOYMENT, "replicas: 3", 'replicas: "3"'),
    ("wrong-type", "2.5", DEPLOYMENT, "replicas: 3", "replicas: 2.5"),
    ("unknown-field", "replcas", DEPLOYMENT, "replicas: 3", "replcas: 3"),
    ("unknown-field", "imge", DEPLOYMENT, "image: nginx:1", "image: nginx:1\n        imge: x"),
    (
        "unknown-field",
        "conatiners",
        DEPLOYMENT,
        "      containers:",
        "      conatiners: []\n      containers:",
    ),
    (
        "wrong-type",
        "main",
        DEPLOYMENT,
        "- name: main\n        image: nginx:1",
        "- main\n      - name: m\n        image: x",
    ),
    ("wrong-type", "true", DEPLOYMENT, '"on"', "true"),
    ("wrong-type", "8080", CONFIG, '"on"', "8080"),
    ("wrong-type", "[", CONFIG, 'data:\n  mode: "on"', "data: [a]"),
    ("unknown-field", "dta", CONFIG, "\ndata:", "\ndta:"),
    ("wrong-type", '"80"', SERVICE, "port: 80\n", 'port: "80"\n'),
    ("unknown-field", "selectors", SERVICE, "selector:", "selectors:"),
    ("wrong-type", "a, b", SERVICE, "{app: web}", "a, b"),
    ("unknown-field", "paths", INGRESS, "  rules:", "  paths: []\n  rules:"),
    ("wrong-type", '"yes"', CONFIG, "\ndata:", '\nimmutable: "yes"\ndata:'),
    ("unknown-field", "lables", CONFIG, "  labels:", "  lables:"),
    ("wrong-type", "1", CONFIG, "{team: a}", "{team: 1}"),
    ("wrong-type", "true", CONFIG, "{note: text}", "{note: true}"),
    ("unknown-field", "verb", ROLE, "verbs: [get]", "verb: [get]\n  verbs: [get]"),
    # Rules of built-in kinds
    ("invalid", "-1", DEPLOYMENT, "replicas: 3", "replicas: -1"),
    (
        "invalid",
        "{app: other}",
        DEPLOYMENT,
        "      labels: {app: web-@}",
        "      labels: {app: other}",
    ),
    ("invalid", "Main", DEPLOYMENT, "name: main", "name: Main"),
    ("missing-field", "name", DEPLOYMENT, "        image: nginx:1\n", ""),
    (
        "not-in-enum",
        "Sometimes",
        DEPLOYMENT,
        "imagePullPolicy: Always",
        "imagePullPolicy: Sometimes",
    ),
    ("not-in-enum", "Never", DEPLOYMENT, "restartPolicy: Always", "restartPolicy: Never"),
    ("not-in-enum", "Rolling", DEPLOYMENT, "type: RollingUpdate", "type: Rolling"),
    ("missing-field", "0", DEPLOYMENT, "containerPort: 80", "containerPort: 0"),
    ("invalid", "70000", DEPLOYMENT, "containerPort: 80", "containerPort: 70000"),
    ("not-in-enum", "HTTP", DEPLOYMENT, "protocol: TCP", "protocol: HTTP"),
    ("invalid", "HTTP!", DEPLOYMENT, "name: http", "name: HTTP!"),
    ("invalid", "1MODE=", DEPLOYMENT, "name: MODE", "name: 1MODE="),
    ("invalid", "256Mi", DEPLOYMENT, "memory: 64Mi", "memory: 256Mi"),
    ("invalid", "100x", DEPLOYMENT, "cpu: 100m", "cpu: 100x"),
    ("invalid", "-5", DEPLOYMENT, "cpu: 100m", "cpu: -5"),
    ("invalid", "tpm", DEPLOYMENT, "{name: tmp, mountPath", "{name: tpm, mountPath"),
    (
        "duplicate-item",
        "{name: http, containerPort: 80}",
        DEPLOYMENT,
        "[{name: http, containerPort: 80, protocol: TCP}]",
        "[{name: a, containerPort: 80}, {name: http, containerPort: 80}]",
    ),
    ("invalid", "-1", DEPLOYMENT, "periodSeconds: 10", "periodSeconds: -1"),
    ("invalid", "70000", SERVICE, "port: 80\n", "port: 70000\n"),
    ("not-in-enum", "ClusterIp", SERVICE, "ClusterIP", "ClusterIp"),
    ("not-in-enum", "Client", SERVICE, "sessionAffinity: None", "sessionAffinity: Client"),
    ("not-in-enum", "tcp", SERVICE, "protocol: TCP", "protocol: tcp"),
    (
        "missing-field",
        "port",
        SERVICE,
        "  - name: http\n    port: 80\n",
        "  - port: 80\n  - name: b\n    port: 81\n",
    ),
    ("invalid-name", "1svc", SERVICE, "name: svc-@", "name: 1svc-@"),
    ("invalid-name", "my.svc", SERVICE, "name: svc-@", "name: my.svc-@"),
    ("invalid", "spec", SERVICE, "type: ClusterIP", "type: ClusterIP\n  clusterIP: 300.1.1.1"),
    ("invalid", "Example.com", INGRESS, "example.com", "Example.com"),
    ("invalid", "x", INGRESS, "path: /", "path: x"),
    ("not-in-enum", "prefix", INGRESS, "pathType: Prefix", "pathType: prefix"),
    ("invalid", '"0 25 * * *"', CRON_JOB, "0 3 * * *", "0 25 * * *"),
    ("not-in-enum", "Skip", CRON_JOB, "concurrencyPolicy: Forbid", "concurrencyPolicy: Skip"),
    ("missing-field", "Always", CRON_JOB, "restartPolicy: Never", "restartPolicy: Always"),
    ("invalid", "-2", CRON_JOB, "backoffLimit: 2", "backoffLimit: -2"),
    ("invalid", "0", SCALER, "maxReplicas: 5", "maxReplicas: 0"),
    ("missing-field", "scaleTargetRef", SCALER, "kind: Deployment, name: web", "kind: Deployment"),
    ("not-in-enum", "ReadWrite", CLAIM, "ReadWriteOnce", "ReadWrite"),
    ("invalid", "resources", CLAIM, "1Gi", "0"),
    ("invalid", "1GB", CLAIM, "1Gi", "1GB!"),
    ("not-in-enum", "parallel", STATEFUL_SET, "Parallel", "parallel"),
    ("invalid", "10.0.0.0", POLICY, "10.0.0.0/8", "10.0.0.0/40"),
    ("not-in-enum", "Inbound", POLICY, "[Ingress]", "[Inbound]"),
    ("not-in-enum", "ClusterRoles", ROLE_BINDING, "kind: Role,", "kind: ClusterRoles,"),
    ("missing-field", "[]", ROLE, "  verbs: [get]", "  verbs: []"),
    ("invalid", "ten", QUOTA, '"10"', "ten"),
    ("wrong-format", "c2VjcmV0!", SECRET, "YWJj", "c2VjcmV0!"),
    # Names, labels, namespaces
    ("invalid-name", "Config", CONFIG, "name: config-@", "name: Config-@"),
    ("invalid-name", "config_", CONFIG, "name: config-@", "name: config_@"),
    ("invalid-name", "-config", CONFIG, "name: config-@", "name: -config-@"),
    ("invalid-name", "Team_A", CONFIG, "namespace: default", "namespace: Team_A"),
    ("invalid", "a b", CONFIG, "{team: a}", "{team: a b}"),
    ("invalid", "te am", CONFIG, "{team: a}", "{te am: a}"),
    ("invalid", "/team", CONFIG, "{team: a}", "{/team: a}"),
    ("invalid", "no te", CONFIG, "{note: text}", "{no te: text}"),
    ("invalid", "key/1", CONFIG, "  mode:", "  key/1:"),
    (
        "reserved-metadata",
        "gitops.kro.run/source",
        CONFIG,
        "{note: text}",
        "{gitops.kro.run/source: a}",
    ),
    ("invalid-wave", '"one"', CONFIG, "{note: text}", '{gitops.kro.run/wave: "one"}'),
    (
        "unknown-dependency",
        "ConfigMap/x",
        CONFIG,
        "{note: text}",
        "{gitops.kro.run/depends-on: ConfigMap/x}",
    ),
    ("invalid-name", "Team", NAMESPACE, "name: team-@", "name: Team-@"),
    ("invalid-name", _LONG[:9], NAMESPACE, "name: team-@", f"name: {_LONG}-@"),
    ("invalid-name", "WebApp", DEFINITION, "name: app-@", "name: WebApp@"),
    ("invalid-name", "Front", INSTANCE, "name: front-@", "name: Front-@"),
    (
        "invalid",
        "a b",
        INSTANCE,
        "  namespace: default",
        "  namespace: default\n  labels: {team: a b}",
    ),
    ("missing-name", "metadata", CONFIG, "  name: config-@\n", ""),
    ("missing-name", "metadata", CONFIG, "name: config-@", "generateName: config-"),
    ("wrong-type", "7", CONFIG, "name: config-@", "name: 7"),
    (
        "duplicate-object",
        "config-@",
        CONFIG + "---\n" + CONFIG.replace("config-@", "config-@ "),
        "text",
        "text",
    ),
    # Sources
    ("unknown-field", "ulr", SOURCE, "url:", "ulr:"),
    ("wrong-type", "60", SOURCE, "interval: 1m", "interval: 60"),
    ("unknown-field", "brnch", SOURCE, "branch:", "brnch:"),
    ("pattern-mismatch", "often", SOURCE, "interval: 1m", "interval: often"),
    ("wrong-type", '"yes"', SOURCE, "suspend: true", 'suspend: "yes"'),
    (
        "rule-violated",
        "url",
        SOURCE,
        "https://git.example.com/shop.git",
        "ftp://git.example.com/shop.git",
    ),
    # CRDs and their objects
    ("invalid-crd", "Namespace", CRD, "Namespaced", "Namespace"),
    ("invalid-crd", "sevred", CRD, "    served: true", "    served: true\n    sevred: true"),
    ("invalid-name", "bucket.", CRD, "name: buckets.c@", "name: bucket.c@"),
    ("invalid-crd", "- name: v1", CRD, "storage: true", "storage: false"),
    ("invalid-crd", "text", CRD, "name: {type: string,", "name: {type: text,"),
    ("invalid-crd", '"self.', CRD, "!has(self.region) ||", "self.sise > 1 &&"),
    ("out-of-range", "0", BUCKET, "  size: 10", "  size: 0"),
    ("out-of-range", "101", BUCKET, "  size: 10", "  size: 101"),
    ("not-in-enum", "east", BUCKET, "region: north\n  name", "region: east\n  name"),
    ("pattern-mismatch", "D4", BUCKET, "name: data", "name: D4"),
    ("wrong-length", "longerthan8", BUCKET, "name: data", "name: longerthan8"),
    ("duplicate-item", "a", BUCKET, "[a, b]", "[b, a, a]"),
    ("wrong-length", "[a, b, c, d]", BUCKET, "[a, b]", "[a, b, c, d]"),
    ("rule-violated", "size", BUCKET, "  size: 10", "  size: 60"),
    ("missing-field", "spec", BUCKET, "  size: 10\n", ""),
    ("wrong-type", "ten", BUCKET, "  size: 10", "  size: ten"),
    ("unknown-field", "sise", BUCKET, "  size: 10", "  size: 10\n  sise: 1"),
    # Instances
    ("unknown-field", "tema", INSTANCE, "  team: shop", "  team: shop\n  tema: shop"),
    ("missing-field", "spec", INSTANCE, "  team: shop\n", ""),
    ("out-of-range", "10", INSTANCE, "  replicas: 2", "  replicas: 10"),
    ("out-of-range", "0", INSTANCE, "  replicas: 2", "  replicas: 0"),
    ("wrong-type", '"2"', INSTANCE, "  replicas: 2", '  replicas: "2"'),
    ("not-in-enum", "big", INSTANCE, "size: large\n  tags", "size: big\n  tags"),
    ("pattern-mismatch", "UPPER", INSTANCE, "  team: shop", "  team: shop\n  host: UPPER"),
    ("wrong-type", "1", INSTANCE, "tags: [a]", "tags: [1]"),
    ("wrong-type", "http", INSTANCE, "[{name: http, number: 80}]", "[http]"),
    ("unknown-field", "numbr", INSTANCE, "number: 80}]", "number: 80, numbr: 8}]"),
    (
        "wrong-type",
        "99999999999999999999",
        INSTANCE,
        "  replicas: 2",
        "  replicas: 99999999999999999999",
    ),
    # Children of instances
    ("invalid", "${schema.spec.port}", INSTANCE, "  team: shop", "  team: shop\n  port: 70000"),
    ("invalid", "${schema.metadata.name}", INSTANCE, "name: front-@", "name: 1front-@"),
    ("invalid", "${schema.metadata.name}", INSTANCE, "name: front-@", f"name: {_LONG}-@"),
    ("invalid", "${schema.spec.image}", INSTANCE, "  team: shop", '  team: shop\n  image: ""'),
    # Definitions
    ("undefined-field", "replicsa", DEFINITION, "schema.spec.replicas", "schema.spec.replicsa"),
    ("unknown-identifier", "confg", DEFINITION, "config.metadata.name}", "confg.metadata.name}"),
    ("expression-syntax", "}", DEFINITION, "${schema.spec.image}", "${schema.spec.}"),
    ("unknown-type", "int", DEFINITION, "integer | default=80", "int | default=80"),
    ("unknown-marker", "requird", DEFINITION, "required=true", "requird=true"),
    ("invalid-default", '"x"', DEFINITION, "default=80", 'default="x"'),
    ("invalid-pattern", '"^[a-z"', DEFINITION, '"^[a-z.]+$"', '"^[a-z"'),
    (
        "type-mismatch",
        "schema.spec.port",
        DEFINITION,
        "image: ${schema.spec.image}",
        "image: ${schema.spec.port}",
    ),
    (
        "not-a-bool",
        "schema.spec.port",
        DEFINITION,
        '"${schema.spec.enabled}"',
        '"${schema.spec.port}"',
    ),
    ("unknown-field", "replcas", DEFINITION, "        replicas: ${", "        replcas: ${"),
    ("unknown-kind", "Deploymnt", DEFINITION, "kind: Deployment", "kind: Deploymnt"),
    ("duplicate-id", "config", DEFINITION, "id: service", "id: config"),
    ("invalid-id", "my-config", DEFINITION, "id: deploy\n", "id: my-config\n"),
    (
        "dependency-cycle",
        "deploy",
        DEFINITION,
        "team: ${schema.spec.team}",
        "team: ${deploy.metadata.name}",
    ),
    (
        "self-reference",
        "service",
        DEFINITION,
        "- port: ${schema.spec.port}",
        "- port: ${service.spec.ports[0].port}",
    ),
    (
        "status-without-expression",
        "yes",
        DEFINITION,
        "ready: ${deploy.status.?readyReplicas.orValue(0)}",
        "ready: yes it is",
    ),
    ("invalid-kind-name", "app@", DEFINITION, "kind: App@", "kind: app@"),
    ("unknown-field", "shema", DEFINITION, "  schema:", "  shema: {}\n  schema:"),
    (
        "reserved-metadata",
        "kro.run/owned",
        DEFINITION,
        "annotations: {config:",
        "labels: {kro.run/owned: x}\n        annotations: {config:",
    ),
    ("wrong-type", "two", DEFINITION, "replicas: ${schema.spec.replicas}", "replicas: two"),
    # YAML
    ("yaml-syntax", "\t", CONFIG, "  mode:", "\tmode:"),
    ("duplicate-key", "mode", CONFIG, '  mode: "on"', '  mode: "on"\n  mode: "off"'),
    ("yaml-syntax", "", CONFIG, "{team: a}", "{team: a"),
    ("not-a-manifest", "-", CONFIG, CONFIG, "- a\n- b\n"),
    ("not-a-manifest", "metadata", CONFIG, "apiVersion: v1\nkind: ConfigMap\n", ""),
)


def mistakes() -> Iterator[Mistake]:
    """Yield all cases; each replaces exactly one text of its manifest."""
    for number, (code, at, right, old, new) in enumerate(_CASES):
        assert old in right, (number, old)
        head, _, tail = right.rpartition(old) if "\n---\n" in right else right.partition(old)
        wrong = f"{head}{new}{tail}".replace("@", str(number))
        yield Mistake(number, code, at.replace("@", str(number)), wrong)
