package chart

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// What the chart renders must be what the operator reads: otherwise an entry that is meant to warn people is lost.
func TestTheDefectsOfTheValuesReachTheOperator(t *testing.T) {
	const values = `clusterOperator: {etcdDefects: [{from: 3.6.0, fixed: 3.6.20, effect: 'members can "lose" data', source: "https://example.com/1"}]}`
	given := defectsFlag(t, values)
	defects, err := etcdversion.ParseDefects(given)
	if err != nil || len(defects) != 1 || defects[0].Fixed != "3.6.20" || defects[0].Effect != `members can "lose" data` {
		t.Errorf("the operator reads %+v, %v of %s", defects, err, given)
	}
	if given := defectsFlag(t, "{}"); given != "" {
		t.Errorf("without defects the operator has the flag: %s", given)
	}
	for name, entry := range map[string]string{
		"no source": "{from: 3.6.0, effect: x}", "a word for a version": "{from: latest, effect: x, source: x}", "an unknown field": "{from: 3.6.0, effect: x, source: x, since: 1}",
	} {
		if out, err := template(t, "clusterOperator: {etcdDefects: ["+entry+"]}"); err == nil || !strings.Contains(out+err.Error(), "etcdDefects") {
			t.Errorf("an entry with %s is accepted", name)
		}
	}
}

// defectsFlag returns the value of the flag that the chart renders for the defects, and an empty string without the flag.
func defectsFlag(t *testing.T, values string) string {
	t.Helper()
	for _, arg := range render(t, values).deployment(t, clusterOperator).Spec.Template.Spec.Containers[0].Args {
		if value, is := strings.CutPrefix(arg, "--etcd-defects="); is {
			return value
		}
	}
	return ""
}
