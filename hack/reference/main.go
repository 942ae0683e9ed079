// Reference writes docs/reference.md: all metrics, conditions, reasons, events, flags and values of the chart. make generate runs it, and
// a test compares.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/etcd-suite/etcd-operator/docs"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: reference <root of the repository> <page to write>")
		os.Exit(2)
	}
	text, err := page(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

const introduction = `# Reference

This page lists all metrics, conditions, reasons, events, flags and values of the chart. ` + "`make generate`" + ` writes it from the code.
The fields of the three kinds are in the [API reference](api.md).
`

// page returns the whole reference.
func page(root string) (string, error) {
	var b strings.Builder
	b.WriteString(introduction)
	for _, part := range []struct {
		heading, text string
		rows          func(root string) ([][]string, error)
	}{
		{"Metrics", "The three operators also serve the metrics of controller-runtime and of Go. Members serve [those of etcd](https://etcd.io/docs/latest/metrics/).", metricRows},
		{"Conditions", "Conditions of the three kinds.", conditionRows},
		{"Reasons", "Reasons of conditions. Most events have one of them, too. [Operations](operations.md) helps you to find one by its symptom.", reasonRows},
		{"Events", "Other reasons of events.", eventRows},
		{"Flags", "Flags of the operators. The chart sets most of them from its values.", flagRows},
		{"Flags of kubectl etcd", "Each command also has the flags of the command `all`. [kubectl etcd](kubectl-etcd.md) explains the commands.", pluginRows},
		{"Options of etcd", "Variables that `spec.pod.etcdEnv` can have, and those that it cannot, for etcd 3.4 to 3.7. [Day 2](day-2.md#options-of-etcd) explains them.", optionRows},
		{"Defects of etcd", "Defects that damage data, hide data, or let in who may not. A cluster that runs an affected release reports [VersionNotAdvised](" + docs.ReasonPage("VersionNotAdvised") + "), " +
			"except for those that the operator avoids or that no release of the minor version corrects.", defectRows},
		{"Values of the chart", "`<operator>` stands for `clusterOperator`, `backupOperator` and `restoreOperator`. " +
			"[The chart's README](../charts/etcd-operator/README.md) explains the values with examples.", valueRows},
	} {
		rows, err := part.rows(root)
		if err != nil {
			return "", fmt.Errorf("list the %s: %w", strings.ToLower(part.heading), err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", part.heading, part.text)
		for i, row := range rows {
			b.WriteString("| " + strings.ReplaceAll(shown(strings.Join(row, " \x00 ")), "|", `\|`) + " |\n")
			if i == 0 {
				b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
	}
	return strings.ReplaceAll(b.String(), "\x00", "|"), nil
}

// shown escapes names such as <key>, which Markdown would take for HTML and omit. Code between backquotes has none to escape.
func shown(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], "<", `\<`)
	}
	return strings.Join(parts, "`")
}

func code(text string) string { return "`" + text + "`" }
