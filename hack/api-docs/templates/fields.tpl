{{- /* One heading for each field below a type, so that each has an anchor. The fields in a field follow it. */ -}}
{{- define "fields" }}
{{- $block := . }}
{{- range .type.Members }}
{{- $type := .Type }}
{{- $path := print $block.path .Name }}
{{- if hasPrefix "*" $type.String }}{{ $type = $type.UnderlyingType }}{{ end }}
{{- if hasPrefix "[]" $type.String }}{{ $type = $type.UnderlyingType }}{{ $path = print $path "[]" }}{{ end }}

#### `{{ $path }}`

Type: {{ template "type" (dict "type" $type "validation" .Validation "sections" $block.sections) }}
{{- if not $block.status }}{{ template "default" . }}{{ end }}.

{{ template "text" (regexReplaceAll " *Default: [^.]*([.][^. ]+)*[.]$" (.Doc | replace "\n\n" " " | replace "\n" " ") "") }}
{{- if and (hasSuffix "api/v1beta2" $type.Package) (not (has $type.Name $block.sections)) }}
{{- template "fields" (dict "type" $type "path" (print $path ".") "status" $block.status "sections" $block.sections) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The type of a field: the values of an enum, a link to a section, or a plain word. */ -}}
{{- define "type" -}}
{{- $words := dict "int" "integer" "int32" "integer" "int64" "integer" "bool" "boolean" "Time" "time" "Duration" "duration" "Quantity" "quantity" "UID" "string" -}}
{{- $name := get $words .type.Name | default .type.Name -}}
{{- $own := hasSuffix "api/v1beta2" .type.Package -}}
{{- $values := "" -}}
{{- range .validation }}{{ if hasPrefix "Enum: " . }}{{ $values = regexReplaceAll "^Enum: \\[(.*)\\]$" . "`$1`" | replace " " "`, `" }}{{ end }}{{ end -}}
{{- if $values }}{{ $values }}
{{- else if hasPrefix "map" .type.String }}map of strings
{{- else if and $own .type.IsAlias }}string
{{- else if has $name .sections }}[{{ $name }}](#{{ lower $name }})
{{- else if $own }}block
{{- else }}{{ $name }}{{ end -}}
{{- end -}}

{{- /* The default of a field: from the schema, or else from the last sentence of its description. */ -}}
{{- define "default" -}}
{{- $text := regexFind "Default: [^.]*([.][^. ]+)*[.]$" (.Doc | replace "\n" " ") | trimPrefix "Default: " | trimSuffix "." -}}
{{- if has "Required: {}" .Validation }}. Required
{{- else if .Default }}. Default: `{{ .Default }}`
{{- else if $text }}. Default: {{ template "text" $text }}{{ end -}}
{{- end -}}

{{- /* Text on one line, without signs that Markdown reads. */ -}}
{{- define "text" -}}
{{ . | replace "<" "\\<" | replace "*" "\\*" | replace "docs/operations.md" "[operations](operations.md)" }}
{{- end -}}
