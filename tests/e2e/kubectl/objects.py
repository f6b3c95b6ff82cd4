"""The objects that kubectl is tried with, as people write them."""

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels: {app: shop, tier: back}
  annotations: {note: first}
data:
  greeting: hello
  lines: |
    one
    two
"""

SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {user: admin, password: quiet}
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: nginx:1.27
        ports: [{containerPort: 80, name: http}]
        env:
        - {name: MODE, value: fast}
        - name: NODE
          valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
        readinessProbe: {httpGet: {path: /ready, port: http}}
        volumeMounts: [{name: settings, mountPath: /etc/settings, readOnly: true}]
      volumes:
      - name: settings
        configMap: {name: settings}
"""

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
"""

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, command: [echo, hello]}]
"""

CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  suspend: true
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: OnFailure
          containers: [{name: main, image: busybox}]
"""

INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front}
spec:
  rules:
  - host: shop.example
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
"""

CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
"""

ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list]}
"""

BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: robot}]
"""

ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
"""

QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: little}
spec: {hard: {configmaps: "10", requests.cpu: "2"}}
"""

POLICY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress:
  - from: [{podSelector: {matchLabels: {app: front}}}]
    ports: [{port: 80}]
"""

BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: enough}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""

AUTOSCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: absent}
  minReplicas: 1
  maxReplicas: 3
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
"""

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: alone, labels: {app: alone}}
spec:
  nodeSelector: {nowhere: "true"}
  containers:
  - {name: main, image: "busybox:1", args: [sleep, "60"]}
"""

LIMIT_RANGE = """\
apiVersion: v1
kind: LimitRange
metadata: {name: bounds}
spec:
  limits:
  - {type: PersistentVolumeClaim, max: {storage: 10Gi}, min: {storage: 1Gi}}
"""

# Kinds that describe tells of, each with an object of its own.
DESCRIBED = {
    "deployment/web": DEPLOYMENT,
    "configmap/settings": CONFIG_MAP,
    "secret/password": SECRET,
    "service/web": SERVICE,
    "job/once": JOB,
    "cronjob/nightly": CRON_JOB,
    "ingress/front": INGRESS,
    "role/reader": ROLE,
    "rolebinding/readers": BINDING,
    "serviceaccount/robot": ACCOUNT,
    "networkpolicy/closed": POLICY,
    "limitrange/bounds": LIMIT_RANGE,
    "pod/alone": POD,
}


def crd(group: str) -> str:
    """Return a definition of `Shop`, in a group of the test's own."""
    return f"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: shops.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{plural: shops, singular: shop, kind: Shop, shortNames: [sp], categories: [all]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {{}}
      scale: {{specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns:
    - {{name: Owner, type: string, jsonPath: .spec.owner}}
    - {{name: Replicas, type: integer, jsonPath: .spec.replicas, priority: 1}}
    - {{name: Age, type: date, jsonPath: .metadata.creationTimestamp}}
    schema:
      openAPIV3Schema:
        type: object
        description: A shop that sells things.
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [owner]
            properties:
              owner: {{type: string, description: Whose it is., minLength: 2}}
              replicas: {{type: integer, default: 1, minimum: 0}}
              shelves:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {{type: string}}
                    goods: {{type: integer}}
          status:
            type: object
            properties:
              replicas: {{type: integer}}
              phase: {{type: string}}
              conditions:
                type: array
                items:
                  type: object
                  x-kubernetes-preserve-unknown-fields: true
"""


def shop(group: str, name: str = "corner", owner: str = "ann") -> str:
    """Return an object of that kind."""
    return f"""\
apiVersion: {group}/v1
kind: Shop
metadata: {{name: {name}}}
spec:
  owner: {owner}
  shelves:
  - {{name: top, goods: 3}}
"""
