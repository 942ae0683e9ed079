{{/*
The flag of one operator that says which namespaces may use its own identity, and where.
*/}}
{{- define "etcd-operator.ownIdentityFlag" -}}
{{ printf "--own-identity=%s" (.ownIdentity | default list | toJson) | quote }}
{{- end }}

{{/*
Fails if the values leave open who may use the own identity of an operator, although it seems to be in use. The dict has root, operator (the block
of values) and kind. Nobody reads the notes if Argo CD or Flux renders the chart.
*/}}
{{- define "etcd-operator.checkOwnIdentity" -}}
{{- $values := index .root.Values .operator }}
{{- $open := kindIs "invalid" $values.ownIdentity }}
{{- $former := $values.ownIdentityNamespaces }}
{{- if not (kindIs "invalid" $former) }}
{{- if $open }}
{{- fail (printf "%s.ownIdentityNamespaces is replaced by ownIdentity, which also says below which paths. To keep what you have, remove ownIdentityNamespaces and write:\n\n%s\nTo keep namespaces apart, write a prefix such as \"my-bucket/{namespace}/\" instead of \"*\"." .operator (include "etcd-operator.ownIdentityLines" (dict "operator" .operator "namespaces" $former))) }}
{{- else if ne (toJson $former) "[\"*\"]" }}
{{- fail (printf "%s.ownIdentityNamespaces has no effect any more: write its namespaces into %s.ownIdentity, and remove it" .operator .operator) }}
{{- end }}
{{- end }}
{{- if $open }}
{{- range list "eks.amazonaws.com/role-arn" "iam.gke.io/gcp-service-account" "azure.workload.identity/client-id" }}
{{- if hasKey $values.serviceAccount.annotations . }}
{{- fail (printf "%s.serviceAccount has the annotation %s, so the operator has an identity of its own at a store. It serves no namespace by default. Say who may use it, and below which path, for example:\n\n%s\n\nOr write %s.ownIdentity: [] if no namespace may." $.operator . (include "etcd-operator.ownIdentityExample" $) $.operator) }}
{{- end }}
{{- end }}
{{- $without := include "etcd-operator.withoutSecret" . }}
{{- if $without }}
{{- fail (printf "These %ss name no Secret, so they use the own identity of the operator, which serves no namespace by default: %s. Say who may use it, and below which path, for example:\n\n%s\n\nOr write %s.ownIdentity: [] if no namespace may. Then these objects report OwnIdentityNotAllowed." .kind $without (include "etcd-operator.ownIdentityExample" .) .operator) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "etcd-operator.ownIdentityLines" -}}
{{ .operator }}:
{{- if .namespaces }}
  ownIdentity:
    - namespaces: {{ toJson .namespaces }}
      pathPrefix: "*"
{{ else }}
  ownIdentity: []
{{ end }}
{{- end }}

{{- define "etcd-operator.ownIdentityExample" -}}
{{ .operator }}:
  ownIdentity:
    - namespaces: ["*"]
      pathPrefix: "my-bucket/{namespace}/"
{{- end }}

{{/*
The objects of a kind that name no Secret for a store and have not ended. Only an upgrade asks the API server. With helm template, there is none.
*/}}
{{- define "etcd-operator.withoutSecret" -}}
{{- $found := list }}
{{- if and .root.Release.IsUpgrade (.root.Capabilities.APIVersions.Has (printf "etcd.database.coreos.com/v1beta2/%s" .kind)) }}
{{- range $namespace := .root.Values.watchNamespaces | default (list "") }}
{{- range (lookup "etcd.database.coreos.com/v1beta2" $.kind $namespace "").items }}
{{- $ended := or (dig "status" "completionTime" "" .) (and (dig "status" "succeeded" false .) (not (dig "spec" "backupPolicy" "" .))) }}
{{- if and (not $ended) (or (include "etcd-operator.noSecret" .spec) (include "etcd-operator.noSecret" (.spec.copyTo | default dict))) }}
{{- $found = append $found (printf "%s/%s" .metadata.namespace .metadata.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $found | sortAlpha | join ", " }}
{{- end }}

{{/*
Not empty if a block of a store names no Secret.
*/}}
{{- define "etcd-operator.noSecret" -}}
{{- range $block, $secret := dict "s3" "awsSecret" "gcs" "gcpSecret" "abs" "absSecret" }}
{{- if and (hasKey $ $block) (not (dig $block $secret "" $)) }}{{ $block }}{{ end }}
{{- end }}
{{- end }}
