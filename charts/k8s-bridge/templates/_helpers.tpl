{{- define "k8s-bridge.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "k8s-bridge.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "k8s-bridge.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: slurm-bridge
{{- end -}}

{{- define "k8s-bridge.labels" -}}
{{ include "k8s-bridge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "k8s-bridge.serviceAccount" -}}
{{- $fullname := include "k8s-bridge.fullname" . -}}
{{- with .Values.slurmBridge.serviceAccount -}}
{{- .name | default (ternary $fullname "default" .create) -}}
{{- end -}}
{{- end -}}

{{- define "k8s-bridge.lease" -}}
{{- .Values.slurmBridge.leaseName | default (printf "%s-leader" (include "k8s-bridge.fullname" .)) -}}
{{- end -}}

{{- /* The namespaces that are served, as JSON. */ -}}
{{- define "k8s-bridge.namespaces" -}}
{{- with .Values.slurmBridge -}}
{{- if .workloadMixing -}}
{{- list (splitList "/" .workloadMixing | first) | toJson -}}
{{- else -}}
{{- .namespaces | default (list $.Release.Namespace) | toJson -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Of (list root namespace): what the bridge reads there by name, as JSON {"secrets": […], "configMaps": […]}. */ -}}
{{- define "k8s-bridge.references" -}}
{{- $root := index . 0 -}}
{{- $namespace := index . 1 -}}
{{- $secrets := $root.Values.slurmBridge.rbac.secrets -}}
{{- $configMaps := $root.Values.slurmBridge.rbac.configMaps -}}
{{- range $root.Values.workloadMixings -}}
{{- if eq $namespace (.namespace | default $root.Release.Namespace) -}}
{{- with .spec.slurmTokenSecretRef }}{{ $secrets = append $secrets .name }}{{ end -}}
{{- with .spec.slurmClientCertRef }}{{ $secrets = append $secrets .name }}{{ end -}}
{{- with .spec.slurmCARef -}}
{{- if eq "Secret" (.kind | default "ConfigMap") }}{{ $secrets = append $secrets .name }}
{{- else }}{{ $configMaps = append $configMaps .name }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "secrets" ($secrets | uniq) "configMaps" ($configMaps | uniq) | toJson -}}
{{- end -}}

{{- /* What every pod of the chart has: nothing that Pod Security "restricted" forbids. */ -}}
{{- define "k8s-bridge.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "k8s-bridge.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- /* Where pods of the chart may run, and how their images are pulled. */ -}}
{{- define "k8s-bridge.placement" -}}
{{- $parts := dict "imagePullSecrets" .Values.imagePullSecrets -}}
{{- range list "nodeSelector" "tolerations" "affinity" -}}
{{- $_ := set $parts . (index $.Values.slurmBridge .) -}}
{{- end -}}
{{- range $key, $value := $parts -}}
{{- if $value }}
{{ $key }}: {{ toJson $value }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Of (dict root selector): which pods of a bridge go first, and that they do not all go with one node. */ -}}
{{- define "k8s-bridge.spread" -}}
{{- $selector := .selector -}}
{{- with .root.Values.slurmBridge -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints:
{{- range . }}
- labelSelector:
    matchLabels: {{- $selector | nindent 6 }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* Not empty when there are hooks: helm upgrades no CRD, and no finalizer may outlive those who heed it. */ -}}
{{- define "k8s-bridge.hooks" -}}
{{- if and .Values.hooks.enabled (or .Values.slurmBridge.enabled .Values.rayBridge.enabled) }}yes{{ end -}}
{{- end -}}

{{- /* The namespaces whose WorkloadMixings hooks have to let go, as JSON: the Ray bridge puts no finalizer on any. */ -}}
{{- define "k8s-bridge.hookNamespaces" -}}
{{- ternary (include "k8s-bridge.namespaces" .) "[]" .Values.slurmBridge.enabled -}}
{{- end -}}

{{- /* Of (list root hook weight). */ -}}
{{- define "k8s-bridge.hookMeta" -}}
labels:
  app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
  app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
  app.kubernetes.io/component: hook
annotations:
  helm.sh/hook: {{ index . 1 }}
  helm.sh/hook-weight: {{ index . 2 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
