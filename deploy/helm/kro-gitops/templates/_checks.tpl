{{- /* What the schema of values cannot say. */ -}}
{{- define "kro-gitops.checks" -}}
{{- if and (gt (int .Values.deployment.replicaCount) 1) (not .Values.config.enableLeaderElection) }}
{{- fail "deployment.replicaCount is more than 1, so config.enableLeaderElection must be true: two controllers at once would work against each other" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not (include "kro-gitops.hasMetricsService" .)) }}
{{- fail "metrics.serviceMonitor.enabled needs metrics.service.create and a config.metricsBindAddress with a port" }}
{{- end }}
{{- end }}

{{- define "kro-gitops.hasMetricsService" -}}
{{- if and .Values.metrics.service.create (include "kro-gitops.port" .Values.config.metricsBindAddress) }}yes{{ end }}
{{- end }}
