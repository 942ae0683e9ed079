// Package checkup is what helm test runs in the image of each operator and with its ServiceAccount: does the installed operator work, may it do
// what it has to, and do the CRDs fit it?
package checkup

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Command is the first argument of a process that checks.
const Command = "check-installation"

// Main checks, prints the findings, and returns the exit code.
func Main(ctx context.Context, version string, args []string, out io.Writer) int {
	request, err := parse(version, args)
	if err == nil {
		var seen Facts
		if seen, err = look(ctx, request); err == nil {
			return report(out, Judge(request, seen))
		}
	}
	fmt.Fprintln(out, err)
	return 1
}

// look asks the API server that the Pod runs in.
func look(ctx context.Context, request Request) (Facts, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return Facts{}, fmt.Errorf("find the Kubernetes API: %w", err)
	}
	config.QPS = -1 // a release that serves many namespaces asks thousands of times
	return Observe(ctx, config, request)
}

func parse(version string, args []string) (Request, error) {
	request := Request{Version: version}
	var rights string
	flags := pflag.NewFlagSet(Command, pflag.ContinueOnError)
	flags.StringVar(&request.Lease, "lease", "", "name of the operator's Lease; empty if the operator elects no leader")
	flags.StringVar(&request.Namespace, "namespace", os.Getenv("OPERATOR_NAMESPACE"), "namespace of the operator")
	flags.StringVar(&rights, "rights", "[]", "rights that the operator needs, as a JSON list of {namespace, rules}")
	flags.DurationVar(&request.Within, "within", time.Minute, "how long to wait for a leader")
	if err := flags.Parse(args); err != nil {
		return request, fmt.Errorf("read the flags: %w", err)
	}
	if err := json.Unmarshal([]byte(rights), &request.Rights); err != nil {
		return request, fmt.Errorf("read --rights: %w", err)
	}
	return request, nil
}

// report prints one line for each finding. Only the exit code fails helm test.
func report(out io.Writer, findings []Finding) int {
	code := 0
	for _, f := range findings {
		result := "ok"
		if !f.Passed {
			result, code = "failed", 1
		}
		fmt.Fprintf(out, "%-6s  %s: %s\n", result, f.Name, strings.TrimSpace(f.Detail))
	}
	return code
}
