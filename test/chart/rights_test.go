package chart

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

var update = flag.Bool("update", false, "write the table of rights into the README of the chart")

// A right is what one verb on one resource needs.
type right struct{ component, scope, resource, verb string }

// scopes are in the order of the table.
var scopes = []string{"", "cluster-wide", "namespace of the release"}

// ownIdentity lets restore-operator use its own identity, so that it signs URLs.
const ownIdentity = `--set-json=restoreOperator.ownIdentity=[{"namespaces":["*"],"pathPrefix":"bucket/{namespace}/"}]`

// granted returns the rights of the operators in a release that serves one namespace.
func granted(t *testing.T, values string) map[right]bool {
	t.Helper()
	r := render(t, "watchNamespaces: [team]\n"+values, ownIdentity)
	found := map[right]bool{}
	add := func(component, scope string, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			for _, resource := range rule.Resources {
				if name := rule.APIGroups[0]; name != group { // each rule has one group
					resource += " (" + cmp.Or(name, "core") + ")"
				}
				if len(rule.ResourceNames) > 0 {
					resource = "its own " + resource
				}
				for _, verb := range rule.Verbs {
					found[right{component, scope, resource, verb}] = true
				}
			}
		}
	}
	for _, role := range all[*rbacv1.Role](r) {
		add(role.Labels[componentLabel], map[string]string{"team": "", releaseNamespace: scopes[2]}[role.Namespace], role.Rules)
	}
	for _, role := range all[*rbacv1.ClusterRole](r) {
		if component := role.Labels[componentLabel]; component != "" {
			add(component, scopes[1], role.Rules)
		}
	}
	return found
}

// switches are values that remove rights.
var switches = []string{
	"clusterOperator.readNodes", "clusterOperator.readStorageClasses", "clusterOperator.managedTLS", "clusterOperator.certManager", "clusterOperator.networkPolicies",
	"restoreOperator.signedURLs", "clusterOperator.metrics.secure", "backupOperator.metrics.secure", "restoreOperator.metrics.secure",
}

// disabled returns values in which the value at a path is false.
func disabled(path string) string {
	return strings.ReplaceAll(path, ".", ": {") + ": false" + strings.Repeat("}", strings.Count(path, "."))
}

// rightsTable renders the table of the README.
func rightsTable(t *testing.T) string {
	t.Helper()
	everything := granted(t, "")
	why := map[right]string{}
	for _, name := range switches {
		left := granted(t, disabled(name))
		removed := 0
		for r := range everything {
			if !left[r] {
				why[r] = name
				if _, shared, _ := strings.Cut(name, "."); strings.Contains(shared, ".") {
					why[r] = shared // all operators have it
				}
				removed++
			}
		}
		if removed == 0 {
			t.Errorf("%s removes no right", name)
		}
	}
	rows := map[string]map[string][]string{} // by the row's title and the component
	for r := range everything {
		title := r.resource
		if note := strings.Trim(r.scope+", "+map[bool]string{true: "`" + why[r] + "`"}[why[r] != ""], ", "); note != "" {
			title += ": " + note
		}
		if rows[title] == nil {
			rows[title] = map[string][]string{}
		}
		rows[title][r.component] = append(rows[title][r.component], r.verb)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| resource | %s | %s | %s |\n|---|---|---|---|\n", clusterOperator, backupOperator, restoreOperator)
	for _, title := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&out, "| %s |", title)
		for _, component := range []string{clusterOperator, backupOperator, restoreOperator} {
			out.WriteString(" " + strings.TrimLeft(strings.Join(inOrder(rows[title][component]), " ")+" |", " "))
		}
		out.WriteString("\n")
	}
	return out.String()
}

func inOrder(verbs []string) []string {
	order := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	slices.SortFunc(verbs, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return verbs
}

func TestREADMEListsExactlyTheRightsOfTheOperators(t *testing.T) {
	const begin, end = "<!-- rights: begin -->\n", "<!-- rights: end -->"
	path := filepath.Join(chartDir, "README.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("the README lacks %q and %q", begin, end)
	}
	table := rightsTable(t)
	if old == table {
		return
	}
	if !*update {
		t.Errorf("the table of rights in the README differs from the roles: run go test ./test/chart -run Rights -update\n%s", table)
		return
	}
	if err := os.WriteFile(path, []byte(before+begin+table+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestREADMECountsTheClusterRolesThatRemain(t *testing.T) {
	r := render(t, "watchNamespaces: [team]")
	mine, users := 0, 0
	for _, role := range all[*rbacv1.ClusterRole](r) {
		if role.Labels[componentLabel] == "" {
			users++
		} else {
			mine++
		}
	}
	raw, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := strings.Join(strings.Fields(string(raw)), " ")
	words := map[int]string{1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
	for _, want := range []string{
		strings.ToUpper(words[mine][:1]) + words[mine][1:] + " ClusterRoles of the operators remain.",
		"also creates " + words[users] + " ClusterRoles for users",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("the README does not say %q", want)
		}
	}
}
