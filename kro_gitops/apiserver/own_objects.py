"""
The objects that an API server makes for itself when it first starts.

Namespaces, roles and bindings, priorities, the service that is the API server: read from a real
one (`documents/objects.json`), without what the server that holds them gives.
"""

import json
from importlib.resources import files

from kro_gitops.apiserver.access import aggregated_rules
from kro_gitops.objects.refs import KubeObject


def own_objects(port: int) -> list[KubeObject]:
    """Return them in the order they can be made; `port` is where this server listens."""
    file = files("kro_gitops.apiserver") / "documents" / "objects.json"
    found: list[KubeObject] = json.loads(file.read_bytes())["objects"]
    for each in found:
        if each["kind"] == "Service":
            each["spec"]["ports"][0]["targetPort"] = port
    return found


def gathered(roles: list[KubeObject]) -> list[KubeObject]:
    """Return the aggregated ClusterRoles whose rules are not those they gather, with these."""
    changed: list[str] = []
    known = {each["metadata"]["name"]: each for each in roles}
    # «admin» gathers «edit», which gathers «view»: until nothing changes any more.
    while True:
        before = len(changed)
        for name, role in known.items():
            rules = aggregated_rules(role, known.values())
            if rules is not None and rules != (role.get("rules") or []):
                known[name] = {**role, "rules": rules}
                changed.append(name)
        if len(changed) == before:
            return [known[name] for name in dict.fromkeys(changed)]
