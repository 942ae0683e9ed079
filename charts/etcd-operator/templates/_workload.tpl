{{/*
The ServiceAccount, Deployment and metrics Service of one component. In addition to root, component and values the dict has
args, the flags of this operator only.
*/}}
{{- define "etcd-operator.workload" -}}
{{- include "etcd-operator.objects" (set (omit . "values") "values" (include "etcd-operator.shared" . | fromJson)) -}}
{{- end -}}

{{/* The values of a component, with those of all operators. Its own ones win. Lists are joined, and of two variables, volumes or mounts of one name only
the own one is left. */}}
{{- define "etcd-operator.shared" -}}
{{- $own := deepCopy .values -}}
{{- $all := .root.Values.operators -}}
{{- range list "podAnnotations" "podLabels" "nodeSelector" -}}
{{- $_ := set $own . (merge (deepCopy (get $own . | default dict)) (get $all . | default dict)) -}}
{{- end -}}
{{- range list "affinity" "dnsConfig" "dnsPolicy" "priorityClassName" "runtimeClassName" -}}
{{- $_ := set $own . (get $own . | default (get $all .)) -}}
{{- end -}}
{{- range list "tolerations" "topologySpreadConstraints" "hostAliases" "extraArgs" -}}
{{- $_ := set $own . (concat (get $all . | default list) (get $own . | default list) | default list) -}}
{{- end -}}
{{- range $field, $key := dict "extraEnv" "name" "extraVolumes" "name" "extraVolumeMounts" "mountPath" -}}
{{- $mine := get $own $field | default list -}}
{{- $taken := list -}}
{{- range $mine -}}{{- $taken = append $taken (get . $key) -}}{{- end -}}
{{- $joined := list -}}
{{- range get $all $field | default list -}}
{{- if not (has (get . $key) $taken) -}}{{- $joined = append $joined . -}}{{- end -}}
{{- end -}}
{{- $_ := set $own $field (concat $joined $mine | default list) -}}
{{- end -}}
{{- toJson $own -}}
{{- end -}}

{{- define "etcd-operator.objects" -}}
{{- if .values.serviceAccount.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "etcd-operator.serviceAccountName" . }}
  namespace: {{ include "etcd-operator.namespace" .root }}
  {{- include "etcd-operator.labelsAndAnnotations" (merge (dict "annotations" .values.serviceAccount.annotations) .) | nindent 2 }}
automountServiceAccountToken: false
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "etcd-operator.metadata" . | nindent 2 }}
spec:
  replicas: {{ .values.replicas | int }}
  {{- if not .values.leaderElection }}
  {{- if gt (int .values.replicas) 1 }}
  {{- fail (printf "%s has %d replicas and leaderElection is false, so they would work against each other: set leaderElection to true or replicas to 1" .component (int .values.replicas)) }}
  {{- end }}
  strategy:
    type: Recreate # without leader election two replicas must not overlap
  {{- else }}
  {{- with .values.strategy }}
  strategy:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "etcd-operator.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "etcd-operator.selector" . | nindent 8 }}
        {{- with .root.Values.commonLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with .values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with merge (deepCopy (.values.podAnnotations | default dict)) (.root.Values.commonAnnotations | default dict) }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "etcd-operator.podSpec" . | nindent 6 }}
{{- if and .values.metrics.enabled .values.metrics.service.enabled }}
---
apiVersion: v1
kind: Service
metadata:
  {{- include "etcd-operator.metadata" (merge (dict "annotations" .values.metrics.service.annotations) .) | nindent 2 }}
spec:
  {{- with .values.metrics.service.ipFamilyPolicy }}
  ipFamilyPolicy: {{ . }}
  {{- end }}
  {{- with .values.metrics.service.ipFamilies }}
  ipFamilies:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  selector:
    {{- include "etcd-operator.selector" . | nindent 4 }}
  ports:
    - name: metrics
      port: 8080
      targetPort: metrics
      protocol: TCP
{{- end }}
{{- if and .values.podDisruptionBudget.enabled (gt (int .values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "etcd-operator.metadata" . | nindent 2 }}
spec:
  {{- $most := .values.podDisruptionBudget.maxUnavailable }}
  maxUnavailable: {{ kindIs "string" $most | ternary $most (int64 (kindIs "string" $most | ternary 0 $most)) }}
  selector:
    matchLabels:
      {{- include "etcd-operator.selector" . | nindent 6 }}
{{- end }}
{{- if .root.Values.networkPolicy.enabled }}
---
{{- include "etcd-operator.networkPolicy" . }}
{{- end }}
{{- end -}}

{{/* Admits connections to the metrics only. The kubelet's probes are admitted by every network plugin. */}}
{{- define "etcd-operator.networkPolicy" -}}
{{- $policy := .root.Values.networkPolicy }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "etcd-operator.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "etcd-operator.selector" . | nindent 6 }}
  policyTypes:
    - Ingress
    {{- if $policy.egress }}
    - Egress
    {{- end }}
  {{- if .values.metrics.enabled }}
  ingress:
    - ports:
        - port: metrics
          protocol: TCP
      {{- with $policy.metricsFrom }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  {{- end }}
  {{- with $policy.egress }}
  egress:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "etcd-operator.podSpec" -}}
serviceAccountName: {{ include "etcd-operator.serviceAccountName" . }}
automountServiceAccountToken: true
{{- with include "etcd-operator.pullSecrets" .root }}
imagePullSecrets:
  {{- . | nindent 2 }}
{{- end }}
{{- range $field := list "priorityClassName" "runtimeClassName" "dnsPolicy" }}
{{- with get $.values $field }}
{{ $field }}: {{ . }}
{{- end }}
{{- end }}
{{- with .values.terminationGracePeriodSeconds }}
terminationGracePeriodSeconds: {{ . | int64 }}
{{- end }}
# The image sets the user, 65532. A platform such as OpenShift may choose another.
securityContext:
  {{- with .values.podSecurityContext }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with dig "volumeClaim" dict (.values.spool | default dict) }}
  {{- if and .enabled .fsGroup (not (hasKey $.values.podSecurityContext "fsGroup")) }}
  fsGroup: {{ .fsGroup | int64 }} # a new volume belongs to root
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  {{- end }}
containers:
  - name: {{ .component }}
    {{- include "etcd-operator.container" . | nindent 4 }}
{{- $metricsSecret := include "etcd-operator.metricsSecret" . }}
{{- if or .values.spool .values.extraVolumes $metricsSecret }}
volumes:
  {{- with $metricsSecret }}
  - name: metrics-tls
    secret:
      secretName: {{ . }}
      optional: true # without it, the operator signs a certificate; its Pod must not wait
      items:
        - {key: tls.crt, path: tls.crt}
        - {key: tls.key, path: tls.key}
  {{- end }}
  {{- with .values.spool }}
  - name: spool
    {{- if dig "volumeClaim" "enabled" false . }}
    ephemeral:
      volumeClaimTemplate:
        spec:
          accessModes: [ReadWriteOnce]
          {{- with .volumeClaim.storageClassName }}
          storageClassName: {{ . }}
          {{- end }}
          resources:
            requests:
              storage: {{ .sizeLimit }}
    {{- else }}
    emptyDir:
      sizeLimit: {{ .sizeLimit }}
    {{- end }}
  {{- end }}
  {{- with .values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- include "etcd-operator.placement" . }}
{{- end -}}

{{/* Where the Pods of a component run, and how they resolve names. */}}
{{- define "etcd-operator.placement" -}}
{{- range $field := list "dnsConfig" "hostAliases" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- with get $.values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "etcd-operator.container" -}}
image: {{ include "etcd-operator.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args:
  - --leader-elect={{ .values.leaderElection }}
  {{- with .root.Values.watchNamespaces }}
  - --watch-namespaces={{ join "," . }}
  {{- end }}
  - --metrics-bind-address={{ ternary ":8080" "0" .values.metrics.enabled }}
  - --metrics-secure={{ .values.metrics.secure }}
  {{- if include "etcd-operator.metricsSecret" . }}
  - --metrics-cert-dir=/metrics-tls
  {{- end }}
  - --health-probe-bind-address=:8081
  - --log-level={{ .root.Values.log.level }}
  - --log-format={{ .root.Values.log.format }}
  {{- range concat .args .values.extraArgs }}
  - {{ . | quote }}
  {{- end }}
{{- with concat (include "etcd-operator.env" . | fromYamlArray) .values.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  {{- if .values.metrics.enabled }}
  - name: metrics
    containerPort: 8080
    protocol: TCP
  {{- end }}
  - name: health
    containerPort: 8081
    protocol: TCP
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  {{- toYaml .values.livenessProbe | nindent 2 }}
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  {{- toYaml .values.readinessProbe | nindent 2 }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if or .values.spool .values.extraVolumeMounts (include "etcd-operator.metricsSecret" .) }}
volumeMounts:
  {{- if include "etcd-operator.metricsSecret" . }}
  - name: metrics-tls
    mountPath: /metrics-tls
    readOnly: true
  {{- end }}
  {{- if .values.spool }}
  - name: spool
    mountPath: /spool
  {{- end }}
  {{- with .values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* The Secret with the certificate of the metrics endpoint; nothing if the operator signs its own. */}}
{{- define "etcd-operator.metricsSecret" -}}
{{- if and .values.metrics.enabled .values.metrics.secure }}{{ .values.metrics.certSecret }}{{ end }}
{{- end -}}

{{/* The variables that extraEnv does not set, because server-side apply refuses a duplicate name. */}}
{{- define "etcd-operator.env" -}}
{{- $taken := list }}
{{- range .values.extraEnv }}
{{- $taken = append $taken .name }}
{{- end }}
{{- if and (dig "limits" "memory" "" .values.resources) (not (has "GOMEMLIMIT" $taken)) }}
# Makes the garbage collector work harder near the limit, before the kernel kills the process.
- name: GOMEMLIMIT
  valueFrom:
    resourceFieldRef:
      resource: limits.memory
{{- end }}
{{- if and .values.networkPolicies (not (has "OPERATOR_NAMESPACE" $taken)) }}
# For the flag --network-policy-peers.
- name: OPERATOR_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}
{{- $stores := .root.Values.stores | default dict }}
{{- range $name, $value := dict "STORE_HTTPS_PROXY" $stores.httpsProxy "STORE_HTTP_PROXY" $stores.httpProxy "STORE_NO_PROXY" (join "," ($stores.noProxy | default list)) "STORE_CA_CERTIFICATES" $stores.caCertificates }}
{{- if and $value (not (has $name $taken)) }}
- name: {{ $name }}
  value: {{ replace "$(" "$$(" $value | quote }}
{{- end }}
{{- end }}
{{- if and .values.spool (not (has "TMPDIR" $taken)) }}
# The root file system is read-only.
- name: TMPDIR
  value: /spool
{{- end }}
{{- end -}}
