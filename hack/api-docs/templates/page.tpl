{{- /* The page docs/api.md. */ -}}
{{- define "gvList" -}}
<!-- Written by make generate from the comments in api/v1beta2 and the templates in hack/api-docs. -->

# API
{{- $sections := list "S3Source" "GCSSource" "ABSSource" "OSSSource" "Snapshot" }}
{{- range . }}
{{- $gv := . }}

Group `{{ .Group }}`, version `{{ .Version }}`. All kinds are namespaced:
{{ range .SortedKinds }}
- [{{ . }}](#{{ lower . }}): [spec](#{{ lower . }}-spec), [status](#{{ lower . }}-status)
{{- end }}
- used by several kinds: {{ range $i, $name := $sections }}{{ if $i }}, {{ end }}[{{ $name }}](#{{ lower $name }}){{ end }}

`kubectl explain etcdcluster.spec.pod` prints the same descriptions, and `kubectl get etcd-operator` lists the objects of all kinds.
The API server refuses an invalid object, and its message says what to write instead. Other problems, such as a missing Secret, are
reported in the status: see [operations](operations.md). The folder [examples](../examples) has complete manifests.

`a.b` is the field `b` of the block `a`, and `a[]` is one item of the list `a`. All fields of a status are optional.
{{- range .SortedKinds }}
{{ template "kind" (dict "type" ($gv.TypeForKind .) "sections" $sections) }}
{{- end }}
{{- range $sections }}
{{- with index $gv.Types . }}

## {{ .Name }}

{{ template "doc" .Doc }}
{{- template "fields" (dict "type" . "path" (print .Name ".") "status" (eq .Name "Snapshot") "sections" $sections) }}
{{- end }}
{{- end }}
{{- end }}
{{ template "notes" }}
{{- end -}}

{{- define "kind" }}
## {{ .type.Name }}

{{ template "doc" .type.Doc }}
{{- $kind := . }}
{{- range .type.Members }}
{{- if has .Name (list "spec" "status") }}

### {{ $kind.type.Name }} {{ .Name }}

{{ template "doc" .Doc }}
{{- template "fields" (dict "type" .Type "path" (print $kind.type.Name "." .Name ".") "status" (eq .Name "status") "sections" $kind.sections) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Paragraphs, without markers such as +optional. */ -}}
{{- define "doc" -}}
{{ regexReplaceAll "(?m)^\\+.*\\n?" . "" | trim | replace "<" "\\<" | replace "*" "\\*" }}
{{- end -}}
