"""
Ingress and IngressClass.

Follows kubernetes 1.35 pkg/apis/networking/validation/validation.go ValidateIngressCreate,
ValidateIngressSpec, ValidateIngressClass; pkg/registry/networking/ingress/strategy.go
ingressStrategy.PrepareForUpdate.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.ip_validation import ip_errors, parse_ip
from kube_sandbox.registry.builtin.services.validation import hostname_errors
from kube_sandbox.registry.field_errors import (
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from kube_sandbox.registry.name_validation import (
    dns_subdomain,
    http_path,
    name_is_1035_label,
    name_is_label,
    path_segment,
    port_name,
    port_number,
    wildcard_subdomain,
)
from kube_sandbox.registry.object_meta import immutable
from kube_sandbox.registry.strategy import Errors, RequestContext

_CLASS_KEY = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDINGS = ("/..", "/.")
_MAX_CONTROLLER_LENGTH = 250

Part = Mapping[str, Any]


class Ingresses(BaseStrategy):
    """Ways into the cluster by host and path."""

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Be reached nowhere yet."""
        return {"loadBalancer": {}}

    def check(self, obj: KubeObject) -> Errors:
        """Validate rules, backends and hosts."""
        spec: Part = obj["spec"]
        found: Errors = []
        rules, backend = spec.get("rules", ()), spec.get("defaultBackend")
        if not rules and backend is None:
            message = "either `defaultBackend` or `rules` must be specified"
            found.append(invalid("spec", None, message))
        if backend is not None:
            found += _backend_errors(backend, "spec.defaultBackend")
        for index, rule in enumerate(rules):
            found += _rule_errors(rule, f"spec.rules[{index}]")
        for index, tls in enumerate(spec.get("tls", ())):
            field = f"spec.tls[{index}]"
            for at, host in enumerate(tls.get("hosts", ())):
                found += _host_errors(host, f"{field}.hosts[{at}]")
            if secret := tls.get("secretName"):
                wrong = dns_subdomain(secret)
                found += [invalid(f"{field}.secretName", secret, each) for each in wrong]
        name = spec.get("ingressClassName")
        if name is not None:
            found += [invalid("spec.ingressClassName", name, each) for each in dns_subdomain(name)]
        return found

    def validate_create(self, obj: KubeObject, occasion: RequestContext) -> Errors:
        """Validate a new one; two names of a class must agree."""
        found = super().validate_create(obj, occasion)
        written = obj["metadata"].get("annotations", {}).get(_CLASS_KEY)
        name = obj["spec"].get("ingressClassName")
        if written is not None and name is not None and written != name:
            message = "must match `ingressClassName` when both are specified"
            found.append(invalid(f"annotations.{_CLASS_KEY}", written, message))
        return found

    def check_status(self, new: KubeObject, old: KubeObject) -> Errors:
        """Validate where it is reached."""
        found: Errors = []
        entries = new.get("status", {}).get("loadBalancer", {}).get("ingress", ())
        for index, entry in enumerate(entries):
            field = f"status.loadBalancer.ingress[{index}]"
            if entry.get("ip"):
                found += ip_errors(entry["ip"], f"{field}.ip")
            found += hostname_errors(entry.get("hostname", ""), f"{field}.hostname")
        return found

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of the annotation that the class has outgrown."""
        written = _CLASS_KEY in obj["metadata"].get("annotations", {})
        if old is not None or not written or "ingressClassName" in obj["spec"]:
            return []
        message = "is deprecated, please use 'spec.ingressClassName' instead"
        return [f'annotation "{_CLASS_KEY}" {message}']


def _host_errors(host: str, field: str) -> Errors:
    rule = wildcard_subdomain if "*" in host else dns_subdomain
    return [invalid(field, host, each) for each in rule(host)]


def _rule_errors(rule: Part, field: str) -> Errors:
    host = rule.get("host", "")
    found: Errors = []
    if host:
        if parse_ip(host) is not None:
            message = "must be a DNS name, not an IP address"
            found.append(invalid(f"{field}.host", host, message))
        found += _host_errors(host, f"{field}.host")
    http = rule.get("http")
    if http is None:
        return found
    paths = http.get("paths") or ()
    if not paths:
        found.append(required(f"{field}.http.paths"))
    for index, path in enumerate(paths):
        path_field = f"{field}.http.paths[{index}]"
        kind, text = path.get("pathType"), path.get("path", "")
        if kind is None:
            found.append(required(f"{path_field}.pathType", "pathType must be specified"))
        else:
            where = f"{path_field}.path"
            is_strict = kind in ("Exact", "Prefix")
            if kind not in _PATH_TYPES:
                found.append(not_supported(f"{path_field}.pathType", kind, _PATH_TYPES))
            elif (text or is_strict) and not text.startswith("/"):
                found.append(invalid(where, text, "must be an absolute path"))
            if is_strict:
                wrong = [f"must not contain '{each}'" for each in _BAD_SEQUENCES if each in text]
                wrong += [
                    f"cannot end with '{each}'" for each in _BAD_ENDINGS if text.endswith(each)
                ]
                found += [invalid(where, text, each) for each in wrong]
            found += _backend_errors(path.get("backend", {}), f"{path_field}.backend")
    return found


def _backend_errors(backend: Part, field: str) -> Errors:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(field, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _reference_errors(resource, f"{field}.resource")
    if service is None:
        return [invalid(field, "", "resource or service backend is required")]
    name = service.get("name", "")
    where = f"{field}.service.name"
    found = [required(where)] if not name else []
    if name:
        found = [invalid(where, name, each) for each in name_is_1035_label(name, False)]
    port = service.get("port", {})
    name, number = port.get("name", ""), port.get("number", 0)
    where = f"{field}.service.port"
    if name and number:
        port_errors: Errors = [invalid(field, "", "cannot set both port name & port number")]
    elif name:
        port_errors = [invalid(f"{where}.name", name, each) for each in port_name(name)]
    elif number:
        port_errors = [invalid(f"{where}.number", number, each) for each in port_number(number)]
    else:
        port_errors = [required(field, "port name or number is required")]
    return found + port_errors


def _reference_errors(reference: Part, field: str) -> Errors:
    group = reference.get("apiGroup")
    found: Errors = []
    if group is not None:
        found += [invalid(f"{field}.apiGroup", group, each) for each in dns_subdomain(group)]
    for part in ("kind", "name"):
        value = reference.get(part, "")
        if not value:
            found.append(required(f"{field}.{part}"))
        else:
            found += [invalid(f"{field}.{part}", value, each) for each in path_segment(value)]
    return found


class IngressClasses(BaseStrategy):
    """Who serves Ingresses."""

    def default(self, obj: KubeObject) -> None:
        """Look for parameters in the whole cluster."""
        parameters = obj.get("spec", {}).get("parameters")
        if parameters is not None and parameters.get("scope") is None:
            parameters["scope"] = "Cluster"

    def check(self, obj: KubeObject) -> Errors:
        """Validate controller and parameters."""
        spec: Part = obj["spec"]
        controller = spec.get("controller", "")
        field = "spec.controller"
        found: Errors = []
        if len(controller) > _MAX_CONTROLLER_LENGTH:
            found.append(too_long(field, _MAX_CONTROLLER_LENGTH))
        if not controller:
            found.append(required(field))
        else:
            host, _, path = controller.partition("/")
            if not host or not path:
                message = 'must be a domain-prefixed path (such as "acme.io/foo")'
                found.append(invalid(field, controller, message))
            else:
                found += [invalid(field, host, each) for each in dns_subdomain(host)]
                found += [invalid(field, path, each) for each in http_path(path)]
        parameters = spec.get("parameters")
        if parameters is None:
            return found
        field = "spec.parameters"
        parameter_errors = _reference_errors(parameters, field)
        scope, namespace = parameters.get("scope", ""), parameters.get("namespace")
        if scope not in ("Cluster", "Namespace"):
            parameter_errors.append(
                not_supported(f"{field}.scope", scope, ("Cluster", "Namespace"))
            )
        elif scope == "Cluster" and namespace is not None:
            message = "`parameters.scope` is set to 'Cluster'"
            parameter_errors.append(forbidden(f"{field}.namespace", message))
        elif scope == "Namespace" and namespace is None:
            message = "`parameters.scope` is set to 'Namespace'"
            parameter_errors.append(required(f"{field}.namespace", message))
        elif namespace is not None:
            wrong = name_is_label(namespace, False)
            parameter_errors += [invalid(f"{field}.namespace", namespace, each) for each in wrong]
        return found + parameter_errors

    def check_update(self, new: KubeObject, old: KubeObject) -> Errors:
        """Let the controller not change."""
        now, then = (each["spec"].get("controller", "") for each in (new, old))
        return immutable(now, then, "spec.controller")


INGRESSES = Ingresses(KindOptions(has_status=True, counted=("spec",), revalidates_metadata=True))
INGRESS_CLASSES = IngressClasses(
    KindOptions(namespaced=False, counted=("spec",), revalidates_metadata=True)
)
