{{- define "etcd-cluster.name" -}}
{{- .Values.fullnameOverride | default .Release.Name -}}
{{- end }}

{{- /* The metadata of an object. Arguments: root, name, annotations. */ -}}
{{- define "etcd-cluster.metadata" -}}
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ .root.Chart.Name }}
    app.kubernetes.io/instance: {{ .root.Release.Name }}
    app.kubernetes.io/managed-by: {{ .root.Release.Service }}
    helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
    {{- with .root.Values.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with merge (.annotations | default dict) .root.Values.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- /* The etcd image of the test. */ -}}
{{- define "etcd-cluster.image" -}}
{{- $spec := .Values.cluster.spec -}}
{{- $image := $spec.image | default dict -}}
{{- $repository := $image.repository | default $spec.repository | default "quay.io/coreos/etcd" -}}
{{- .Values.test.image | default (printf "%s:v%s" $repository (trimPrefix "v" (toString $spec.version))) -}}
{{- end }}
