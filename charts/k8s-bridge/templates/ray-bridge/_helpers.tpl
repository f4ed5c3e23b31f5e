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
