{{/*
Grants rules, a YAML list, to the ServiceAccount of one component, either cluster-wide or in each namespace that it serves.
The Lease of the leader election and its events are in the namespace of the release.
*/}}
{{- define "etcd-operator.rbac" -}}
{{- $context := . -}}
{{- if .root.Values.watchNamespaces }}
{{- range $namespace := .root.Values.watchNamespaces }}
{{- include "etcd-operator.role" (merge (dict "namespace" $namespace "suffix" "") $context) }}
{{- end }}
{{- else }}
{{- include "etcd-operator.clusterRole" (merge (dict "suffix" "") $context) }}
{{- end }}
{{- if and .values.metrics.enabled .values.metrics.secure }}
{{- include "etcd-operator.clusterRole" (merge (dict "suffix" "-metrics" "rules" (include "etcd-operator.metricsRules" .)) $context) }}
{{- end }}
{{- if .values.leaderElection }}
{{- $rules := include "etcd-operator.leaderElectionRules" . }}
{{- include "etcd-operator.role" (merge (dict "namespace" (include "etcd-operator.namespace" .root) "suffix" "-leader-election" "rules" $rules) $context) }}
{{- end }}
{{- end -}}

{{- define "etcd-operator.role" -}}
{{- $name := printf "%s%s" (include "etcd-operator.name" .) .suffix }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ .namespace }}
  {{- include "etcd-operator.labelsAndAnnotations" . | nindent 2 }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ .namespace }}
  {{- include "etcd-operator.labelsAndAnnotations" . | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  {{- include "etcd-operator.subject" . | nindent 2 }}
{{- end -}}

{{- define "etcd-operator.clusterRole" -}}
{{- $name := printf "%s%s:%s" (include "etcd-operator.name" .) .suffix (include "etcd-operator.namespace" .root) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  {{- include "etcd-operator.labelsAndAnnotations" . | nindent 2 }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  {{- include "etcd-operator.labelsAndAnnotations" . | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
  {{- include "etcd-operator.subject" . | nindent 2 }}
{{- end -}}

{{- define "etcd-operator.subject" -}}
- kind: ServiceAccount
  name: {{ include "etcd-operator.serviceAccountName" . }}
  namespace: {{ include "etcd-operator.namespace" .root }}
{{- end -}}

{{- define "etcd-operator.leaderElectionRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create] # create cannot be limited to a name
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ .component }}{{ with .values.shard }}-{{ . }}{{ end }}.etcd.database.coreos.com]
  verbs: [get, update]
- apiGroups: [""] # the leader election library writes core events
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* Kubernetes checks who reads the metrics. These objects are cluster-wide and are not stored. */}}
{{- define "etcd-operator.metricsRules" -}}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end -}}

{{/* Rights of every operator: read the Secrets that a spec names, and write events. */}}
{{- define "etcd-operator.commonRules" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
