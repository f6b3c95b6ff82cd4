"""Selectors to try, right and wrong, and the kinds whose fields can be selected by."""

LABELS = """a|a=|=a|a==b|a=b=c|a in|a in (|a in (b|a in (b,|a in (b)|a in ()|a in (,)|a in b|!a|!a=b
! a|!|a!b|a,b|a,|a,,b|,a|a b|a in (b c)|a in (b)c|a>5|a<x|a>=5|a<>5|-a=b|a=-b|a/b/c=d|/a|a/|a b=c
x=y|x!=y|x in (y,z)|x notin (y)|!x|A_b.c/d|a=%%|in in (in)|notin|a in (in)|x = y|x  ==  y|a in (!)
a=(b)|(a)|a in (b,(c))|a=é|=|!=|a===b|a!==b|x>1,x<3|a>1 |a=b,c=%|a<-%|a in (-b,c-)|a notin (b,,c)
x,!y|x in (y),x=y|x,x!=z|x notin ()|x in (,y)| |a!=|a in(b)|a\tin\n(b)""".replace("\n", "|").split(
    "|"
)
FIELDS = r"""a|a=b|metadata.name|metadata.name=thing|metadata.name==thing|metadata.name!=thing|=b|,
metadata.name=thing,metadata.namespace=f-recorded-patches|metadata.name=a\,b|metadata.name=a\x
metadata.name=a\|metadata.name=a=b|metadata.namespace=x|metadata.name=|metadata.name=thing,,
metadata.name=thing,metadata.name=b|metadata.name!=|metadata.uid=x|metadata.name=a!=b
 metadata.name=a|metadata.name=\\\=\,|spec.text=a""".replace("\n", "|").split("|")
KINDS = {
    "/v1/Pod": "/api/v1/pods", "/v1/Node": "/api/v1/nodes", "/v1/Namespace": "/api/v1/namespaces",
    "/v1/Secret": "/api/v1/secrets", "/v1/Service": "/api/v1/services",
    "/v1/Event": "/api/v1/events", "events.k8s.io/v1/Event": "/apis/events.k8s.io/v1/events",
    "/v1/ReplicationController": "/api/v1/replicationcontrollers",
    "apps/v1/ReplicaSet": "/apis/apps/v1/replicasets", "batch/v1/Job": "/apis/batch/v1/jobs",
    "batch/v1/CronJob": "/apis/batch/v1/cronjobs", "/v1/ConfigMap": "/api/v1/configmaps",
    "certificates.k8s.io/v1/CertificateSigningRequest":
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "resource.k8s.io/v1/ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
}  # fmt: skip
ASKED = [
    "metadata.name",
    "metadata.namespace",
    "foo",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "spec.host",
    "spec.nodeName",
    "spec.hostNetwork",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "type",
    "status.nominatedNodeName",
    "spec.unschedulable",
    "status.replicas",
    "status.successful",
    "spec.signerName",
    "reason",
    "spec.clusterIP",
    "spec.type",
    "involvedObject.name",
    "involvedObject.fieldPath",
    "regarding.name",
    "source",
    "reportingComponent",
    "reportingController",
    "spec.driver",
    "note",
]
