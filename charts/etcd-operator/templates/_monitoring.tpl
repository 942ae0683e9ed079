{{/* How Prometheus reads an endpoint: the part of a ServiceMonitor and of a PodMonitor that the values set. */}}
{{- define "etcd-operator.scrape" -}}
{{- range $field := list "interval" "scrapeTimeout" }}
{{- with get $ $field }}
{{ $field }}: {{ . }}
{{- end }}
{{- end }}
{{- range $field := list "relabelings" "metricRelabelings" }}
{{- with get $ $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The rules of files/rules.yaml, with the changes of monitoring.prometheusRule.alerts. */}}
{{- define "etcd-operator.rules" -}}
{{- $changes := .Values.monitoring.prometheusRule.alerts | default dict -}}
{{- if not $changes -}}
{{- .Files.Get "files/rules.yaml" -}}
{{- else -}}
{{- $known := list -}}
{{- $groups := list -}}
{{- range $group := (.Files.Get "files/rules.yaml" | fromYaml).groups -}}
{{- $rules := list -}}
{{- range $rule := $group.rules -}}
{{- $known = append $known (get $rule "alert") -}}
{{- $change := get $changes (get $rule "alert") | default dict -}}
{{- if ne (toString (get $change "enabled")) "false" -}}
{{- with $change.for -}}{{- $_ := set $rule "for" . -}}{{- end -}}
{{- with $change.severity -}}{{- $_ := set $rule "labels" (merge (dict "severity" .) ($rule.labels | default dict)) -}}{{- end -}}
{{- with $change.labels -}}{{- $_ := set $rule "labels" (merge (deepCopy .) ($rule.labels | default dict)) -}}{{- end -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- if $rules -}}{{- $groups = append $groups (set $group "rules" $rules) -}}{{- end -}}
{{- end -}}
{{- range $name, $_ := $changes -}}
{{- if not (has $name $known) -}}{{- fail (printf "monitoring.prometheusRule.alerts names %s, and there is no alert of that name: docs/alerts.md lists them" $name) -}}{{- end -}}
{{- end -}}
{{- toYaml (dict "groups" $groups) -}}
{{- end -}}
{{- end -}}
