{{- define "k8s-bridge.ray.fullname" -}}
{{- printf "%s-ray" (include "k8s-bridge.fullname" .) -}}
{{- end -}}

{{- define "k8s-bridge.ray.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: ray-bridge
{{- end -}}

{{- define "k8s-bridge.ray.labels" -}}
{{ include "k8s-bridge.ray.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "k8s-bridge.ray.lease" -}}
{{- printf "%s-leader" (include "k8s-bridge.ray.fullname" .) -}}
{{- end -}}

{{- /* The namespaces that are served, as JSON. */ -}}
{{- define "k8s-bridge.ray.namespaces" -}}
{{- .Values.rayBridge.namespaces | default (list .Release.Namespace) | toJson -}}
{{- end -}}

{{- /* What holds jobs: policy, webhook or none; empty without a bridge. */ -}}
{{- define "k8s-bridge.ray.admission" -}}
{{- with .Values.rayBridge -}}
{{- if not .enabled -}}
{{- else if ne .admission "auto" -}}
{{- .admission -}}
{{- else if $.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}
policy
{{- else if $.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy" -}}
policy
{{- else -}}
webhook
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "k8s-bridge.ray.webhook" -}}
{{- printf "%s-webhook" (include "k8s-bridge.ray.fullname" .) -}}
{{- end -}}

{{- /* Name of the webhook configurations. Kueue's come after it, as the API server asks in the order of names. */ -}}
{{- define "k8s-bridge.ray.configuration" -}}
{{- printf "0-%s-%s" .Release.Namespace (include "k8s-bridge.ray.fullname" .) -}}
{{- end -}}

{{- define "k8s-bridge.ray.webhookSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: ray-webhook
{{- end -}}

{{- define "k8s-bridge.ray.webhookLabels" -}}
{{ include "k8s-bridge.ray.webhookSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}
