package gitops

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

// healthChecks are the Lua programs of docs/gitops.md, by kind. Argo CD calls each with the object in obj.
func healthChecks(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	var config struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(block, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: argocd}\n", "")), &config); err != nil {
		t.Fatalf("the first block of docs/gitops.md is not a ConfigMap: %v", err)
	}
	checks := map[string]string{}
	for key, program := range config.Data {
		checks[strings.TrimPrefix(key, "resource.customizations.health.etcd.database.coreos.com_")] = program
	}
	return checks
}

func health(t *testing.T, program, object string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(object), &value); err != nil {
		t.Fatal(err)
	}
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("obj", luaValue(l, value))
	if err := l.DoString(program); err != nil {
		t.Fatal(err)
	}
	return lua.LVAsString(l.GetField(l.Get(-1), "status"))
}

func luaValue(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, field := range v {
			table.RawSetString(key, luaValue(l, field))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(luaValue(l, item))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}

func TestArgoCDShowsTheHealthOfClustersAndBackups(t *testing.T) {
	checks := healthChecks(t)
	for name, c := range map[string]struct{ kind, object, want string }{
		"a new cluster":             {"EtcdCluster", `{"metadata": {"generation": 1}}`, "Progressing"},
		"a cluster that is ready":   {"EtcdCluster", `{"metadata": {"generation": 1}, "status": {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1, "message": "m"}]}}`, "Healthy"},
		"a change that is not seen": {"EtcdCluster", `{"metadata": {"generation": 2}, "status": {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1, "message": "m"}]}}`, "Progressing"},
		"a cluster that is stalled": {"EtcdCluster", `{"metadata": {"generation": 1}, "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "SecretMissing", "observedGeneration": 1, "message": "m"}, {"type": "Stalled", "status": "True"}]}}`, "Degraded"},
		"a hibernated cluster":      {"EtcdCluster", `{"metadata": {"generation": 1}, "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Hibernated", "observedGeneration": 1, "message": "m"}]}}`, "Suspended"},
		"a lost quorum":             {"EtcdCluster", `{"metadata": {"generation": 1}, "status": {"conditions": [{"type": "Available", "status": "False"}, {"type": "Ready", "status": "False", "reason": "QuorumLost", "observedGeneration": 1, "message": "m"}]}}`, "Degraded"},
		"a new backup":              {"EtcdBackup", `{"metadata": {"generation": 1}}`, "Progressing"},
		"a series":                  {"EtcdBackup", `{"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", "message": "m"}]}}`, "Healthy"},
		"a changed series":          {"EtcdBackup", `{"metadata": {"generation": 2}, "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", "message": "m"}]}}`, "Progressing"},
		"a one-shot that failed":    {"EtcdBackup", `{"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "False", "message": "m"}, {"type": "Failed", "status": "True"}]}}`, "Degraded"},
		"a one-shot that ended":     {"EtcdBackup", `{"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "conditions": [{"type": "Complete", "status": "True", "message": "m"}]}}`, "Healthy"},
		"a backup that is stalled":  {"EtcdBackup", `{"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "False", "message": "m"}, {"type": "Stalled", "status": "True"}]}}`, "Degraded"},
	} {
		if got := health(t, checks[c.kind], c.object); got != c.want {
			t.Errorf("%s is %s, want %s", name, got, c.want)
		}
	}
}
