{{/*
Binds rules, a YAML list, to one component's ServiceAccount: everywhere, or in each namespace that it serves. The
Lease of the leader election is in the release's namespace, with the events that tell who leads.
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
{{- if .values.leaderElection }}
{{- $rules := include "etcd-operator.leaderElectionRules" . }}
{{- include "etcd-operator.role" (merge (dict "namespace" .root.Release.Namespace "suffix" "-leader-election" "rules" $rules) $context) }}
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
  labels:
    {{- include "etcd-operator.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ .namespace }}
  labels:
    {{- include "etcd-operator.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  {{- include "etcd-operator.subject" . | nindent 2 }}
{{- end -}}

{{- define "etcd-operator.clusterRole" -}}
{{- $name := printf "%s%s:%s" (include "etcd-operator.name" .) .suffix .root.Release.Namespace }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  labels:
    {{- include "etcd-operator.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
rules:
  {{- .rules | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  labels:
    {{- include "etcd-operator.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
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
  namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{- define "etcd-operator.leaderElectionRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create] # a name cannot be demanded of what does not exist yet
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ .component }}.etcd.database.coreos.com]
  verbs: [get, update]
- apiGroups: [""] # the election's library writes the old kind of event
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* What every operator may do beside its own kind: read the Secrets that a spec names, each by its name, and tell. */}}
{{- define "etcd-operator.commonRules" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
