{{- /* Checks that values.schema.json cannot express. */ -}}
{{- define "kro-gitops.checks" -}}
{{- if and (gt (int .Values.deployment.replicaCount) 1) (not .Values.config.enableLeaderElection) }}
{{- fail "deployment.replicaCount is more than 1, so config.enableLeaderElection must be true: two active controllers would overwrite each other's changes" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not (include "kro-gitops.hasMetricsService" .)) }}
{{- fail "metrics.serviceMonitor.enabled needs metrics.service.create and a config.metricsBindAddress that is not loopback, such as :8078" }}
{{- end }}
{{- if include "kro-gitops.metricsPort" . }}
{{- if not (and .Values.networkPolicy.enabled .Values.networkPolicy.metricsFrom) }}
{{- fail (printf "config.metricsBindAddress %s serves metrics, which have no authentication, to every Pod of the cluster: set networkPolicy.enabled and networkPolicy.metricsFrom, or use a loopback address" .Values.config.metricsBindAddress) }}
{{- end }}
{{- if .Values.deployment.hostNetwork }}
{{- fail (printf "config.metricsBindAddress %s serves metrics on the address of the node, where no NetworkPolicy applies: with deployment.hostNetwork, use a loopback address" .Values.config.metricsBindAddress) }}
{{- end }}
{{- end }}
{{- if and (or .Values.rbac.rules .Values.rbac.impersonateNames) (eq .Values.rbac.mode "unrestricted") }}
{{- fail "rbac.rules and rbac.impersonateNames have no effect with rbac.mode unrestricted: use aggregation" }}
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
{{- if and .Values.metrics.service.create (include "kro-gitops.metricsPort" .) }}yes{{ end }}
{{- end }}
