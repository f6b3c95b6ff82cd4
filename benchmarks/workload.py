"""
Definitions and instances in any number, like those people write.

A definition is made of groups of five resources that read the instance and each other: a ConfigMap,
a Deployment, a Service, an Ingress, an autoscaler. Six groups are 30 resources with 200
expressions. In each group one expression reads what only a cluster knows.
"""

from typing import Any

KubeObject = dict[str, Any]

_SPEC = {
    "name": "string | required=true",
    "env": 'string | default="test" enum="test,prod"',
    "image": 'string | default="nginx:stable"',
    "replicas": "integer | default=2 minimum=1 maximum=50",
    "enabled": "boolean | default=true",
    "host": 'string | default="example.com" pattern="^[a-z0-9.-]+$"',
    "tags": "[]string",
    "labels": "map[string]string",
    "ports": "[]Port",
}
_TYPES = {"Port": {"name": "string | required=true", "port": "integer | minimum=1 maximum=65535"}}


def definition(name: str, kind: str, groups: int) -> KubeObject:
    """Return a definition with five resources in each group."""
    resources = [resource for number in range(groups) for resource in _group(number)]
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": name},
        "spec": {
            "schema": {
                "apiVersion": "v1alpha1",
                "kind": kind,
                "types": _TYPES,
                "spec": _SPEC,
                "status": {
                    "available": "${deployment0.status.?availableReplicas.orValue(0)}",
                    "address": "http://${service0.metadata.name}.${schema.metadata.namespace}",
                },
            },
            "resources": resources,
        },
    }


def instance(kind: str, number: int, *, is_wrong: bool = False) -> KubeObject:
    """Return an instance; a wrong one has a field its kind does not know."""
    made: KubeObject = {
        "apiVersion": "kro.run/v1alpha1",
        "kind": kind,
        "metadata": {
            "name": f"app-{number}",
            "namespace": f"team-{number % 20}",
            "annotations": {"example.com/owner": f"team-{number % 20}"},
        },
        "spec": {
            "name": f"app-{number}",
            "env": "prod" if number % 3 == 0 else "test",
            "replicas": 1 + number % 9,
            "tags": ["blue", "green", f"tag-{number}"],
            "labels": {"team": f"team-{number % 20}", "tier": "web"},
            "ports": [{"name": f"p{n}", "port": 8000 + n} for n in range(3)],
        },
    }
    if is_wrong:
        made["spec"]["replcas"] = 3
    return made


def _group(n: int) -> list[KubeObject]:
    return [_config(n), _deployment(n), _service(n), _ingress(n), _autoscaler(n)]


def _resource(name: str, api_version: str, kind: str, **body: Any) -> KubeObject:
    return {"id": name, "template": {"apiVersion": api_version, "kind": kind, **body}}


def _config(n: int) -> KubeObject:
    metadata = {"name": f"${{schema.spec.name}}-config{n}", "labels": "${schema.spec.labels}"}
    data = {
        "environment": "${schema.spec.env == 'prod' ? 'live' : 'rehearsal'}",
        "replicas": f"${{string(schema.spec.replicas * 2 + {n})}}",
        "tags": "${schema.spec.tags.join(',')}",
        "labels": "${schema.spec.labels.transformList(k, v, k + '=' + v).join(';')}",
        "title": f"${{'%s-%d'.format([schema.spec.name, schema.spec.replicas + {n}])}}",
    }
    return _resource(f"config{n}", "v1", "ConfigMap", metadata=metadata, data=data)


def _deployment(n: int) -> KubeObject:
    container = {
        "name": "main",
        "image": "${has(schema.spec.image) ? schema.spec.image : 'nginx:latest'}",
        "ports": "${schema.spec.ports.map(p, {'name': p.name, 'containerPort': p.port})}",
        "envFrom": [{"configMapRef": {"name": f"${{config{n}.metadata.name}}"}}],
        "env": [
            {"name": "ENVIRONMENT", "value": f"${{config{n}.data.environment}}"},
            {"name": "TAGS", "value": "${string(schema.spec.tags.size())} tags, group " + str(n)},
        ],
    }
    label = f"${{schema.spec.name}}-{n}"
    metadata = {
        "name": f"${{schema.spec.name}}-{n}",
        "annotations": {
            "example.com/owner": "${schema.metadata.?annotations['example.com/owner'].orValue('')}"
        },
    }
    spec = {
        "replicas": "${schema.spec.env == 'prod' ? schema.spec.replicas * 2 : 1}",
        "selector": {"matchLabels": {"app": label}},
        "template": {
            "metadata": {"labels": {"app": label}},
            "spec": {"containers": [container]},
        },
    }
    made = _resource(f"deployment{n}", "apps/v1", "Deployment", metadata=metadata, spec=spec)
    replicas = f"deployment{n}.status.availableReplicas == deployment{n}.spec.replicas"
    return made | {"readyWhen": [f"${{{replicas}}}"]}


def _service(n: int) -> KubeObject:
    metadata = {"name": f"${{deployment{n}.metadata.name}}", "labels": "${schema.spec.labels}"}
    spec = {
        "selector": f"${{deployment{n}.spec.selector.matchLabels}}",
        "ports": "${schema.spec.ports.map(p, {'name': p.name, 'port': p.port + 1000})}",
    }
    return _resource(f"service{n}", "v1", "Service", metadata=metadata, spec=spec)


def _ingress(n: int) -> KubeObject:
    backend = {
        "name": f"${{service{n}.metadata.name}}",
        "port": {"number": f"${{service{n}.spec.ports[0].port}}"},
    }
    paths = [{"path": "/", "pathType": "Prefix", "backend": {"service": backend}}]
    rule = {"host": f"${{schema.spec.name}}-{n}.${{schema.spec.host}}", "http": {"paths": paths}}
    metadata = {
        "name": f"${{schema.spec.name}}-{n}",
        "annotations": {"example.com/address": f"http://${{service{n}.spec.clusterIP}}:8000"},
    }
    made = _resource(
        f"ingress{n}", "networking.k8s.io/v1", "Ingress", metadata=metadata, spec={"rules": [rule]}
    )
    wanted = "${schema.spec.enabled && schema.spec.ports.exists(p, p.name == 'p1')}"
    return made | {"includeWhen": [wanted]}


def _autoscaler(n: int) -> KubeObject:
    target = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": f"${{deployment{n}.metadata.name}}",
    }
    metadata = {"name": f"${{schema.spec.name}}-{n}", "labels": "${schema.spec.labels}"}
    spec = {
        "scaleTargetRef": target,
        "minReplicas": "${schema.spec.replicas}",
        "maxReplicas": f"${{schema.spec.replicas * 4 + {n}}}",
    }
    return _resource(
        f"scaler{n}", "autoscaling/v2", "HorizontalPodAutoscaler", metadata=metadata, spec=spec
    )
