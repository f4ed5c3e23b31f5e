{{- define "k8s-bridge.args" -}}
{{- with .Values.slurmBridge -}}
- run
{{- if .workloadMixing }}
- --workloadmixing={{ .workloadMixing }}
{{- else }}
{{- range include "k8s-bridge.namespaces" $ | fromJsonArray }}
- --namespace={{ . }}
{{- end }}
{{- end }}
- --lease-name={{ include "k8s-bridge.lease" $ }}
- --http={{ if contains ":" .http.host }}[{{ .http.host }}]{{ else }}{{ .http.host }}{{ end }}:{{ .http.port }}
- --log-level={{ .log.level }}
- --log-format={{ .log.format }}
- --workers={{ .workers }}
{{- range .gates.slurmdImages }}
- --allow-image={{ . }}
{{- end }}
{{- range .gates.tokenPaths }}
- --allow-token-path={{ . }}
{{- end }}
{{- range .gates.slurmHosts }}
- --allow-slurm-host={{ . }}
{{- end }}
{{- if .gates.insecureTLS }}
- --allow-insecure-tls
{{- end }}
{{- range .extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
{{- end -}}
