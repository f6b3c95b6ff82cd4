{{- /* One argument: a flag and its value. An empty value omits the flag. */ -}}
{{- define "kro-gitops.flag" -}}
{{- $value := last . }}
{{- if ne (toString $value) "" }}
- {{ printf "%s=%s" (first .) (kindIs "string" $value | ternary $value (toJson $value)) | quote }}
{{- end }}
{{- end }}

{{- define "kro-gitops.gates" -}}
{{- $gates := list }}
{{- range $name, $on := .Values.config.featureGates }}
{{- $gates = append $gates (printf "%s=%t" $name $on) }}
{{- end }}
{{- join "," $gates }}
{{- end }}

{{- define "kro-gitops.flags" -}}
{{- $config := .Values.config }}
- run
- --in-cluster
- {{ $config.installCRDs | ternary "--install-crds" "--no-install-crds" }}
- {{ $config.events | ternary "--events" "--no-events" }}
{{- if $config.allowCRDDeletion }}
- --allow-crd-deletion
{{- end }}
{{- if $config.enableLeaderElection }}
- --leader-elect
{{- if $config.enableControllerWarmup }}
- --enable-controller-warmup
{{- end }}
{{- include "kro-gitops.flag" (list "--leader-election-namespace" $config.leaderElectionNamespace) }}
{{- include "kro-gitops.flag" (list "--leader-election-lease-duration" $config.leaderElectionLeaseDuration) }}
{{- include "kro-gitops.flag" (list "--leader-election-renew-deadline" $config.leaderElectionRenewDeadline) }}
{{- include "kro-gitops.flag" (list "--leader-election-retry-period" $config.leaderElectionRetryPeriod) }}
{{- end }}
{{- include "kro-gitops.flag" (list "--metrics-bind-address" $config.metricsBindAddress) }}
{{- include "kro-gitops.flag" (list "--health-probe-bind-address" $config.healthProbeBindAddress) }}
{{- include "kro-gitops.flag" (list "--client-qps" $config.clientQps) }}
{{- include "kro-gitops.flag" (list "--client-burst" $config.clientBurst) }}
{{- include "kro-gitops.flag" (list "--graceful-shutdown-timeout" $config.gracefulShutdownTimeout) }}
{{- include "kro-gitops.flag" (list "--resource-graph-definition-concurrent-reconciles" $config.resourceGraphDefinitionConcurrentReconciles) }}
{{- include "kro-gitops.flag" (list "--graph-revision-concurrent-reconciles" $config.graphRevisionConcurrentReconciles) }}
{{- include "kro-gitops.flag" (list "--dynamic-controller-concurrent-reconciles" $config.dynamicControllerConcurrentReconciles) }}
{{- include "kro-gitops.flag" (list "--dynamic-controller-rate-limiter-min-delay" $config.dynamicControllerRateLimiterMinDelay) }}
{{- include "kro-gitops.flag" (list "--dynamic-controller-rate-limiter-max-delay" $config.dynamicControllerRateLimiterMaxDelay) }}
{{- include "kro-gitops.flag" (list "--rgd-progress-requeue-delay" $config.resourceGraphDefinitionProgressRequeueDelay) }}
{{- include "kro-gitops.flag" (list "--rgd-max-collection-size" $config.rgd.maxCollectionSize) }}
{{- include "kro-gitops.flag" (list "--rgd-max-collection-dimension-size" $config.rgd.maxCollectionDimensionSize) }}
{{- include "kro-gitops.flag" (list "--rgd-max-graph-revisions" $config.rgd.maxGraphRevisions) }}
{{- include "kro-gitops.flag" (list "--instance-requeue-interval" $config.instance.requeueInterval) }}
{{- include "kro-gitops.flag" (list "--log-level" $config.logLevel) }}
{{- include "kro-gitops.flag" (list "--log-format" $config.logEncoder) }}
{{- include "kro-gitops.flag" (list "--kro-version" $config.kroVersion) }}
{{- include "kro-gitops.flag" (list "--adoption-policy" $config.adoptionPolicy) }}
{{- include "kro-gitops.flag" (list "--drift-added-fields" $config.driftAddedFields) }}
{{- include "kro-gitops.flag" (list "--drift-managers" (join "," $config.driftManagers)) }}
{{- include "kro-gitops.flag" (list "--max-prune-count" $config.maxPruneCount) }}
{{- include "kro-gitops.flag" (list "--max-prune-percent" $config.maxPrunePercent) }}
{{- if $config.retainPersistentVolumeClaims }}
- --retain-persistent-volume-claims
{{- end }}
{{- if $config.allowSecondController }}
- --allow-second-controller
{{- end }}
{{- include "kro-gitops.flag" (list "--readiness" $config.readiness) }}
{{- include "kro-gitops.flag" (list "--author-conditions-ready" $config.authorConditionsReady) }}
{{- include "kro-gitops.flag" (list "--default-service-account" $config.defaultServiceAccount) }}
{{- if $config.instancesOwnNamespaceOnly }}
- --instances-own-namespace-only
{{- end }}
{{- include "kro-gitops.flag" (list "--tracking-mode" $config.trackingMode) }}
{{- include "kro-gitops.flag" (list "--argocd-tracking-method" $config.argocdTrackingMethod) }}
{{- include "kro-gitops.flag" (list "--argocd-label-key" $config.argocdLabelKey) }}
{{- include "kro-gitops.flag" (list "--propagate-labels" $config.propagateLabels) }}
{{- include "kro-gitops.flag" (list "--evaluation-limit" $config.evaluationLimit) }}
{{- include "kro-gitops.flag" (list "--instance-evaluation-limit" $config.instanceEvaluationLimit) }}
{{- include "kro-gitops.flag" (list "--feature-gates" (include "kro-gitops.gates" .)) }}
- {{ $config.sources | ternary "--sources" "--no-sources" }}
{{- if $config.sources }}
{{- include "kro-gitops.sourceFlags" . }}
{{- end }}
{{- with .Values.deployment.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "kro-gitops.sourceFlags" -}}
{{- $config := .Values.config }}
{{- if $config.noCrossNamespaceRefs }}
- --no-cross-namespace-refs
{{- end }}
{{- if $config.allowPrivateNetworks }}
- --allow-private-networks
{{- end }}
{{- if $config.allowPlainHttp }}
- --allow-plain-http
{{- end }}
{{- include "kro-gitops.flag" (list "--watch-namespaces" (join "," $config.watchNamespaces)) }}
{{- include "kro-gitops.flag" (list "--allowed-git-hosts" (join "," $config.allowedGitHosts)) }}
{{- include "kro-gitops.flag" (list "--webhook-bind-address" $config.webhookBindAddress) }}
{{- include "kro-gitops.flag" (list "--storage-path" $config.storagePath) }}
{{- include "kro-gitops.flag" (list "--storage-size" .Values.storage.sizeLimit) }}
{{- include "kro-gitops.flag" (list "--source-documents" $config.sourceDocuments) }}
{{- include "kro-gitops.flag" (list "--source-size" $config.sourceSize) }}
{{- include "kro-gitops.flag" (list "--source-concurrent-reconciles" $config.sourceConcurrentReconciles) }}
{{- with .Values.repo }}
{{- if .url }}
{{- include "kro-gitops.flag" (list "--repo" .url) }}
{{- include "kro-gitops.flag" (list "--branch" .branch) }}
{{- include "kro-gitops.flag" (list "--tag" .tag) }}
{{- include "kro-gitops.flag" (list "--semver" .semver) }}
{{- include "kro-gitops.flag" (list "--commit" .commit) }}
{{- include "kro-gitops.flag" (list "--path" .path) }}
{{- include "kro-gitops.flag" (list "--repo-interval" .interval) }}
{{- include "kro-gitops.flag" (list "--repo-secret" .secret) }}
{{- include "kro-gitops.flag" (list "--repo-name" .name) }}
{{- include "kro-gitops.flag" (list "--repo-namespace" (default $.Release.Namespace .namespace)) }}
{{- end }}
{{- end }}
{{- end }}
