"""
Manifests that are right, for mistakes to be made in.

`@` stands for the number of the case, so that many cases fit into one repository.
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-@
  labels: {app: web-@}
spec:
  replicas: 3
  revisionHistoryLimit: 2
  selector:
    matchLabels: {app: web-@}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
  template:
    metadata:
      labels: {app: web-@}
    spec:
      restartPolicy: Always
      containers:
      - name: main
        image: nginx:1
        imagePullPolicy: Always
        ports: [{name: http, containerPort: 80, protocol: TCP}]
        env: [{name: MODE, value: "on"}]
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
        livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 10}
        volumeMounts: [{name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]
"""

SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: svc-@
spec:
  type: ClusterIP
  selector: {app: web}
  sessionAffinity: None
  ports:
  - name: http
    port: 80
    targetPort: 8080
    protocol: TCP
"""

CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: config-@
  namespace: default
  labels: {team: a}
  annotations: {note: text}
data:
  mode: "on"
"""

SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: secret-@}
type: Opaque
data: {token: YWJj}
"""

INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ingress-@}
spec:
  rules:
  - host: example.com
    http:
      paths:
      - path: /
        pathType: Prefix
        backend: {service: {name: web, port: {number: 80}}}
"""

CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: cron-@}
spec:
  schedule: "0 3 * * *"
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      backoffLimit: 2
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: busybox}]
"""

SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler-@}
spec:
  minReplicas: 1
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""

CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim-@}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
"""

STATEFUL_SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: set-@}
spec:
  serviceName: set
  selector: {matchLabels: {app: set-@}}
  podManagementPolicy: Parallel
  template:
    metadata: {labels: {app: set-@}}
    spec: {containers: [{name: main, image: nginx}]}
"""

ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: role-@}
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
"""

ROLE_BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: binding-@}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{kind: ServiceAccount, name: a, namespace: default}]
"""

POLICY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: policy-@}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Ingress]
  ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80, protocol: TCP}]}]
"""

NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: team-@}
"""

QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota-@}
spec:
  hard: {pods: "10", requests.cpu: "4"}
"""

SOURCE = """\
apiVersion: gitops.kro.run/v1alpha1
kind: GitSource
metadata: {name: source-@}
spec:
  url: https://git.example.com/shop.git
  ref: {branch: main}
  interval: 1m
  suspend: true
"""

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.c@.example.com}
spec:
  group: c@.example.com
  scope: Namespaced
  names: {kind: Bucket, plural: buckets, singular: bucket}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, maximum: 100}
              region: {type: string, enum: [north, south]}
              name: {type: string, maxLength: 8, pattern: "^[a-z]+$"}
              tags: {type: array, items: {type: string}, x-kubernetes-list-type: set, maxItems: 3}
            x-kubernetes-validations:
            - rule: "!has(self.region) || self.size < 50"
              message: regions take less than 50
"""

BUCKET = (
    CRD
    + """\
---
apiVersion: c@.example.com/v1
kind: Bucket
metadata: {name: bucket-@}
spec:
  size: 10
  region: north
  name: data
  tags: [a, b]
"""
)

DEFINITION = """\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: app-@
spec:
  schema:
    apiVersion: v1alpha1
    kind: App@
    types:
      Port: {name: string, number: integer}
    spec:
      image: string | default="nginx"
      replicas: integer | default=1 minimum=1 maximum=9
      size: string | default="small" enum="small,large"
      host: string | default="example.com" pattern="^[a-z.]+$"
      team: string | required=true
      tags: "[]string"
      ports: "[]Port"
      enabled: boolean | default=true
      port: integer | default=80
    status:
      ready: ${deploy.status.?readyReplicas.orValue(0)}
  resources:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${schema.metadata.name}-config"}
      data:
        team: ${schema.spec.team}
  - id: deploy
    includeWhen: ["${schema.spec.enabled}"]
    readyWhen: ["${deploy.status.?replicas.orValue(0) >= 0}"]
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: ${schema.metadata.name}
        annotations: {config: "${config.metadata.name}"}
      spec:
        replicas: ${schema.spec.replicas}
        selector: {matchLabels: {app: "${schema.metadata.name}"}}
        template:
          metadata: {labels: {app: "${schema.metadata.name}"}}
          spec:
            containers:
            - name: main
              image: ${schema.spec.image}
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata:
        name: ${schema.metadata.name}
      spec:
        selector: {app: "${schema.metadata.name}"}
        ports:
        - port: ${schema.spec.port}
"""

INSTANCE = (
    DEFINITION
    + """\
---
apiVersion: kro.run/v1alpha1
kind: App@
metadata:
  name: front-@
  namespace: default
spec:
  team: shop
  replicas: 2
  size: large
  tags: [a]
  ports: [{name: http, number: 80}]
"""
)

RIGHT = (
    *(DEPLOYMENT, SERVICE, CONFIG, SECRET, INGRESS, CRON_JOB, SCALER, CLAIM, STATEFUL_SET, ROLE),
    *(ROLE_BINDING, POLICY, NAMESPACE, QUOTA, SOURCE, CRD, BUCKET, DEFINITION, INSTANCE),
)
