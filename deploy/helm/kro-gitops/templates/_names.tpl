{{- define "kro-gitops.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The name of all objects: the release name if it contains the chart name, otherwise both. */ -}}
{{- define "kro-gitops.fullname" -}}
{{- $name := include "kro-gitops.name" . }}
{{- $both := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- default $both .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kro-gitops.serviceAccount" -}}
{{- $default := .Values.serviceAccount.create | ternary (include "kro-gitops.fullname" .) "default" }}
{{- default $default .Values.serviceAccount.name }}
{{- end }}

{{- define "kro-gitops.selector" -}}
app.kubernetes.io/name: {{ include "kro-gitops.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kro-gitops.labels" -}}
{{ include "kro-gitops.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: controller
app.kubernetes.io/part-of: kro-gitops
{{- if .Values.metadata.includeHelmChart }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- if .Values.metadata.includeManagedBy }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "kro-gitops.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag }}
{{- $version := .Values.image.digest | empty | ternary (printf ":%s" $tag) (printf "@%s" .Values.image.digest) }}
{{- .Values.image.repository }}{{ $version }}
{{- end }}

{{- /* The port of an address like `:8078` or `127.0.0.1:8078`; empty if there is none. */ -}}
{{- define "kro-gitops.port" -}}
{{- regexFind ":[0-9]+$" . | trimPrefix ":" }}
{{- end }}

{{- /* The port at which other Pods reach metrics; empty if they do not. */ -}}
{{- define "kro-gitops.metricsPort" -}}
{{- if not (regexMatch "^(127\\.[0-9.]+|localhost|\\[::1\\]):" .Values.config.metricsBindAddress) }}
{{- include "kro-gitops.port" .Values.config.metricsBindAddress }}
{{- end }}
{{- end }}

{{- define "kro-gitops.leaseNamespace" -}}
{{- default .Release.Namespace .Values.config.leaderElectionNamespace }}
{{- end }}
