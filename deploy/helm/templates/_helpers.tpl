{{- define "cc.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "cc.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cc.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "cc.topicPrefix" -}}
{{- if .Values.settings.KAFKA_TOPIC_PREFIX }}{{ .Values.settings.KAFKA_TOPIC_PREFIX }}{{ else if .Values.cell.name }}{{ .Values.cell.name }}.{{ else }}cc.{{ end -}}
{{- end }}

{{- define "cc.kafkaUser" -}}
{{- .Values.kafka.user | default (include "cc.name" .) -}}
{{- end }}

{{- define "cc.databaseUrl" -}}
postgres://$(DATABASE_USERNAME):$(DATABASE_PASSWORD)@{{ .host }}:5432/{{ .name }}?sslmode=verify-full&sslrootcert=/etc/clean-conversions/database/ca.crt
{{- end }}

{{- define "cc.cellEnv" -}}
{{- with .Values.cell.name }}
- name: CELL
  value: {{ . | quote }}
{{- end }}
{{- if .Values.cell.all }}
- name: CELLS
  value: {{ $cells := list }}{{ range $name, $url := .Values.cell.all }}{{ $cells = append $cells (printf "%s=%s" $name $url) }}{{ end }}{{ join "," $cells | quote }}
{{- end }}
{{- with .Values.cell.tokensSecret }}
- name: CELL_TOKENS
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: CELL_TOKENS
{{- end }}
{{- end }}

{{- define "cc.databaseEnv" -}}
{{- with .Values.database }}
{{- if .cluster }}
{{- $secret := .existingSecret | default (printf "%s-app" .cluster) }}
- name: DATABASE_USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: username
- name: DATABASE_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: password
- name: DATABASE_URL
  value: {{ include "cc.databaseUrl" (dict "host" (printf "%s-rw" .cluster) "name" .name) | quote }}
{{- if .readStandbys }}
- name: DATABASE_READ_URL
  value: {{ include "cc.databaseUrl" (dict "host" (printf "%s-ro" .cluster) "name" .name) | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "cc.kafkaEnv" -}}
{{- with .Values.kafka.cluster }}
- name: KAFKA_BROKERS
  value: {{ printf "%s-kafka-bootstrap:9093" . | quote }}
- name: KAFKA_TOPIC_PREFIX
  value: {{ include "cc.topicPrefix" $ | quote }}
- name: KAFKA_SSL
  value: "true"
- name: KAFKA_SSL_CA
  value: /etc/clean-conversions/kafka/ca.crt
- name: KAFKA_SASL_MECHANISM
  value: scram-sha-512
- name: KAFKA_SASL_USERNAME
  value: {{ include "cc.kafkaUser" $ | quote }}
- name: KAFKA_SASL_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ include "cc.kafkaUser" $ }}
      key: password
{{- end }}
{{- end }}

{{- define "cc.requireApi" -}}
{{- if not (.root.Capabilities.APIVersions.Has .api) }}
{{- fail (printf "%s needs the custom resources %s, which this cluster does not have: install %s first." .value .api .operator) }}
{{- end }}
{{- end }}
