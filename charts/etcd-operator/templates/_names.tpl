{{/*
Every template for one component takes a dict with root (the chart's context), component (for example "cluster-operator")
and values (the values of that component).
*/}}

{{/* The name of the application in labels. */}}
{{- define "etcd-operator.application" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{/* The namespace of the operators, which a parent chart may choose. */}}
{{- define "etcd-operator.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "etcd-operator.prefix" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 46 | trimSuffix "-" -}}
{{- end -}}

{{/* 46 characters and "-restore-operator" are 63, the maximum length of a Service's name. */}}
{{- define "etcd-operator.name" -}}
{{- include "etcd-operator.prefix" .root }}-{{ .component -}}
{{- end -}}

{{/* The names of cluster-wide objects contain the namespace, because several namespaces may have a release of one name. */}}
{{- define "etcd-operator.clusterName" -}}
{{- include "etcd-operator.name" . }}:{{ include "etcd-operator.namespace" .root -}}
{{- end -}}

{{- define "etcd-operator.serviceAccountName" -}}
{{- $account := .values.serviceAccount -}}
{{- if $account.create -}}
{{- $account.name | default (include "etcd-operator.name" .) -}}
{{- else -}}
{{- required (printf "serviceAccount.create is false for %s: name the account in serviceAccount.name" .component) $account.name -}}
{{- end -}}
{{- end -}}

{{- define "etcd-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "etcd-operator.application" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "etcd-operator.selector" -}}
app.kubernetes.io/name: {{ include "etcd-operator.application" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "etcd-operator.metadata" -}}
name: {{ include "etcd-operator.name" . }}
namespace: {{ include "etcd-operator.namespace" .root }}
{{ include "etcd-operator.labelsAndAnnotations" . }}
{{- end -}}

{{/* The labels and annotations of an object. component may be missing; annotations are those of this object only. */}}
{{- define "etcd-operator.labelsAndAnnotations" -}}
labels:
  {{- include "etcd-operator.labels" .root | nindent 2 }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  {{- with .extraLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (deepCopy (.annotations | default dict)) (.root.Values.commonAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The image with its digest, or else with the tag of the component or of the chart. Without these, a release has the digest of its own image
in digests.yaml, so that an overwritten tag does not run. The chart of the repository has no such file, and takes appVersion. A registry that a
parent chart names for all charts takes the place of image.registry. */}}
{{- define "etcd-operator.image" -}}
{{- $image := .values.image -}}
{{- $repository := $image.repository -}}
{{- $registry := dig "imageRegistry" "" (.root.Values.global | default dict) | default .root.Values.image.registry -}}
{{- if .root.Values.image.prefix -}}
{{- $repository = printf "%s/%s" .root.Values.image.prefix (base $repository) -}}
{{- else if $registry -}}
{{- $repository = printf "%s/%s" $registry $repository -}}
{{- end -}}
{{- $tag := $image.tag | default .root.Values.image.tag -}}
{{- $released := get (.root.Files.Get "digests.yaml" | fromYaml) (base $repository) -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else if and $released (not $tag) -}}
{{- printf "%s@%s" $repository $released -}}
{{- else -}}
{{- printf "%s:%s" $repository ($tag | default .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* The Secrets of this chart and those of a parent chart, which are names or objects with a name. */}}
{{- define "etcd-operator.pullSecrets" -}}
{{- $names := list -}}
{{- range concat .Values.imagePullSecrets (dig "imagePullSecrets" list (.Values.global | default dict) | default list) -}}
{{- $names = append $names (kindIs "string" . | ternary . (get (kindIs "map" . | ternary . dict) "name")) -}}
{{- end -}}
{{- range $names | uniq }}
- name: {{ . }}
{{- end -}}
{{- end -}}
