{{- /* Checks that values.schema.json cannot express. */ -}}
{{- define "kro-gitops.checks" -}}
{{- if and (gt (int .Values.deployment.replicaCount) 1) (not .Values.config.enableLeaderElection) }}
{{- fail "deployment.replicaCount is more than 1, so config.enableLeaderElection must be true: two active controllers would overwrite each other's changes" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not (include "kro-gitops.hasMetricsService" .)) }}
{{- fail "metrics.serviceMonitor.enabled needs metrics.service.create and a config.metricsBindAddress with a port" }}
{{- end }}
{{- if and .Values.repo.url (not .Values.config.sources) }}
{{- fail "repo.url needs config.sources" }}
{{- end }}
{{- if and .Values.webhooks.ingress.enabled (not (include "kro-gitops.hasWebhookService" .)) }}
{{- fail "webhooks.ingress.enabled needs config.sources, webhooks.service.create and a config.webhookBindAddress with a port" }}
{{- end }}
{{- if and .Values.webhooks.ingress.enabled (not .Values.webhooks.ingress.host) }}
{{- fail "webhooks.ingress.enabled needs webhooks.ingress.host: an Ingress without a host would receive every request to the cluster" }}
{{- end }}
{{- end }}

{{- /* The port of the webhook listener; empty if there is none. */ -}}
{{- define "kro-gitops.webhookPort" -}}
{{- if .Values.config.sources }}{{ include "kro-gitops.port" .Values.config.webhookBindAddress }}{{ end }}
{{- end }}

{{- define "kro-gitops.hasWebhookService" -}}
{{- if and .Values.webhooks.service.create (include "kro-gitops.webhookPort" .) }}yes{{ end }}
{{- end }}

{{- define "kro-gitops.hasMetricsService" -}}
{{- if and .Values.metrics.service.create (include "kro-gitops.port" .Values.config.metricsBindAddress) }}yes{{ end }}
{{- end }}
