{{/*
A ValidatingAdmissionPolicy that limits what the ServiceAccounts of the operators may write, whatever their roles allow. It matches no
request of another account. Takes a dict with root, name, rules (YAML), variables (YAML) and validations (YAML). With everyone, it limits
all accounts instead, in the namespaces that the operators watch.
*/}}
{{- define "etcd-operator.admissionPolicy" -}}
{{- $name := printf "%s-%s.%s" (include "etcd-operator.prefix" .root) .name (include "etcd-operator.namespace" .root) }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ $name }}
  {{- include "etcd-operator.labelsAndAnnotations" (dict "root" .root) | nindent 2 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Exact
    resourceRules:
      {{- .rules | trim | nindent 6 }}
  {{- if not .everyone }}
  matchConditions:
    - name: operators-of-this-release
      expression: request.userInfo.username in {{ include "etcd-operator.accounts" .root | fromJson | values | uniq | sortAlpha | toJson | replace "\"" "'" }}
  {{- end }}
  variables:
    {{- if not .everyone }}
    {{- include "etcd-operator.admissionVariables" .root | trim | nindent 4 }}
    {{- end }}
    {{- with .variables }}
    {{- . | trim | nindent 4 }}
    {{- end }}
  validations:
    {{- .validations | trim | nindent 4 }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ $name }}
  {{- include "etcd-operator.labelsAndAnnotations" (dict "root" .root) | nindent 2 }}
spec:
  policyName: {{ $name }}
  validationActions: [Deny]
  {{- if and .everyone .root.Values.watchNamespaces }}
  matchResources:
    namespaceSelector:
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson .root.Values.watchNamespaces }}}
  {{- end }}
{{- end -}}

{{/* The users that the enabled operators are to Kubernetes, as JSON by component. Operators may share a ServiceAccount. */}}
{{- define "etcd-operator.accounts" -}}
{{- $accounts := dict -}}
{{- range $component, $values := dict "cluster-operator" .Values.clusterOperator "backup-operator" .Values.backupOperator "restore-operator" .Values.restoreOperator -}}
{{- if $values.enabled -}}
{{- $account := include "etcd-operator.serviceAccountName" (dict "root" $ "component" $component "values" $values) -}}
{{- $_ := set $accounts $component (printf "system:serviceaccount:%s:%s" (include "etcd-operator.namespace" $) $account) -}}
{{- end -}}
{{- end -}}
{{- toJson $accounts -}}
{{- end -}}

{{/*
Kubernetes 1.30 and newer have the policies. An API server may have them switched off, which only its discovery shows: without a server,
as in helm template, Helm knows no kinds.
*/}}
{{- define "etcd-operator.admissionPolicies" -}}
{{- $known := .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- $served := .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy" -}}
{{- if and .Values.admissionPolicies.create (or $served (not $known)) (include "etcd-operator.accounts" . | fromJson) }}true{{ end -}}
{{- end -}}

{{/*
What all policies know: which operator asks, the name of the object, and the EtcdCluster that controls it, before and after the request.
An empty text means no EtcdCluster. Kubernetes evaluates a variable when a rule uses it.
*/}}
{{- define "etcd-operator.admissionVariables" -}}
{{- $accounts := include "etcd-operator.accounts" . | fromJson }}
{{- range $variable, $component := dict "isClusterOperator" "cluster-operator" "isBackupOperator" "backup-operator" "isRestoreOperator" "restore-operator" }}
- name: {{ $variable }}
  expression: {{ if hasKey $accounts $component }}request.userInfo.username == '{{ get $accounts $component }}'{{ else }}"false"{{ end }}
{{- end }}
- name: creates
  expression: request.operation == 'CREATE'
- name: deletes
  expression: request.operation == 'DELETE'
- name: name
  expression: "variables.deletes ? oldObject.metadata.name : object.metadata.name"
- name: owners
  expression: >-
    variables.deletes || !has(object.metadata.ownerReferences) ? [] :
    object.metadata.ownerReferences.filter(o, has(o.controller) && o.controller)
- name: ownersBefore
  expression: >-
    variables.creates || !has(oldObject.metadata.ownerReferences) ? [] :
    oldObject.metadata.ownerReferences.filter(o, has(o.controller) && o.controller)
- name: cluster
  expression: >-
    variables.owners.size() == 1 && variables.owners[0].kind == 'EtcdCluster' &&
    variables.owners[0].apiVersion.startsWith('etcd.database.coreos.com/') ? variables.owners[0].name : ''
- name: clusterBefore
  expression: >-
    variables.ownersBefore.size() == 1 && variables.ownersBefore[0].kind == 'EtcdCluster' &&
    variables.ownersBefore[0].apiVersion.startsWith('etcd.database.coreos.com/') ? variables.ownersBefore[0].name : ''
# A Pod or volume that lost its owner keeps the name that the operator made for it.
- name: nameOfMember
  expression: variables.name.matches('-[bcdfghjklmnpqrstvwxz2456789]{10}$')
{{- end -}}
