// Package alerts tests the alerts and dashboards of the chart with the engine of Prometheus. It is a module of its own, so that the
// operators do not depend on Prometheus.
package alerts

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

const files = "../../charts/etcd-operator/files/"

// rules are those of the chart. They are valid, as promtool check rules sees it.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, problems := rulefmt.ParseFile(files+"rules.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, problem := range problems {
		t.Error(problem)
	}
	var all []rulefmt.Rule
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) < 20 {
		t.Fatalf("found %d alerts", len(all))
	}
	return all
}

// length of a run. Series have a sample in each of its minutes.
const length = 45

// firing returns the alerts that fire at the end of a run, and those that fired at any time.
func firing(t *testing.T, series map[string]string) []string {
	t.Helper()
	storage := newStorage(t, series, time.Minute)
	engine := newEngine(5 * time.Minute)
	var fired []string
	for _, rule := range rules(t) {
		pending := map[uint64]int{} // for how many minutes
		for minute := range length + 1 {
			query, err := engine.NewInstantQuery(t.Context(), storage, nil, rule.Expr, time.Unix(int64(minute)*60, 0))
			if err != nil {
				t.Fatalf("%s: %v", rule.Alert, err)
			}
			result := query.Exec(t.Context())
			vector, err := result.Vector()
			if err != nil {
				t.Fatalf("%s: %v", rule.Alert, err)
			}
			if held(vector, pending) > int(time.Duration(rule.For)/time.Minute) {
				fired = append(fired, rule.Alert)
			}
			query.Close()
		}
	}
	slices.Sort(fired)
	return slices.Compact(fired)
}

// newEngine is an engine for which a series exists for so long after its last sample. Prometheus takes 5 minutes if it does not reach a target any
// more. A series that a target no longer has ends at once.
func newEngine(lookback time.Duration) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: lookback, EnableAtModifier: true})
}

// held returns for how many minutes in a row the longest series has been there.
func held(vector promql.Vector, pending map[uint64]int) int {
	longest, seen := 0, map[uint64]bool{}
	for _, sample := range vector {
		key := labels.NewBuilder(sample.Metric).Del(metricName).Labels().Hash()
		seen[key] = true
		pending[key]++
		longest = max(longest, pending[key])
	}
	for key := range pending {
		if !seen[key] {
			delete(pending, key)
		}
	}
	return longest
}

// with returns the metrics of a healthy installation with other values. An empty value removes a series.
func with(changes map[string]string) map[string]string {
	series := map[string]string{}
	for name, values := range healthy {
		series[name] = values
	}
	for name, values := range changes {
		if series[name] = values; values == "" {
			delete(series, name)
		}
	}
	return series
}

func TestEachAlertFiresWhenItShould(t *testing.T) {
	if fired := firing(t, with(nil)); len(fired) > 0 {
		t.Fatalf("without a problem %v fire", fired)
	}
	for _, rule := range rules(t) {
		changes, exists := problems[rule.Alert]
		if !exists {
			t.Errorf("there is no case for %s", rule.Alert)
			continue
		}
		if fired := firing(t, with(changes)); !slices.Contains(fired, rule.Alert) {
			t.Errorf("%s does not fire, but %v", rule.Alert, fired)
		}
	}
}

func TestNoAlertFiresForAClusterThatIsAsItsUserWants(t *testing.T) {
	for name, changes := range quiet {
		if fired := firing(t, with(changes)); len(fired) > 0 {
			t.Errorf("%s: %v fire", name, fired)
		}
	}
}

func TestAProblemFiresOnlyTheAlertsThatNameIt(t *testing.T) {
	for name, problem := range precise {
		if fired := firing(t, with(problem.changes)); !slices.Equal(fired, problem.want) {
			t.Errorf("%s: %v fire, want %v", name, fired, problem.want)
		}
	}
}

// Otherwise the quiet cases of unsafe would show nothing.
func TestAnUnsafeBackupFiresAllAlertsOfTheSecondLocationAndTheArchive(t *testing.T) {
	for late, changes := range map[string]map[string]string{"EtcdArchiveDelayed": unsafe, "EtcdArchiveFailed": but(map[string]string{archiveLag: ""})} {
		want := []string{late, "EtcdArchiveGap", "EtcdArchiveNotCopied", "EtcdArchiveProofFailed", "EtcdBackupNotCopied"}
		if fired := firing(t, with(changes)); !slices.Equal(fired, want) {
			t.Errorf("%v fire, want %v", fired, want)
		}
	}
}

func TestAGapIsReportedForADay(t *testing.T) {
	changes := map[string]string{
		ofBackup: "1x99", archiving: "1x99",
		`etcd_operator_archive_gaps_total{namespace="ns",name="b",pod="a"}`: "0x4 1x5", // it restarts in the tenth hour
		`etcd_operator_archive_gaps_total{namespace="ns",name="b",pod="b"}`: "_x10 0x88",
	}
	storage, engine := newStorage(t, changes, time.Hour), newEngine(5*time.Minute)
	all := rules(t)
	gap := all[slices.IndexFunc(all, func(r rulefmt.Rule) bool { return r.Alert == "EtcdArchiveGap" })]
	for hour, want := range map[int]int{4: 0, 5: 1, 9: 1, 12: 1, 26: 1, 35: 0, 90: 0} {
		query, err := engine.NewInstantQuery(t.Context(), storage, nil, gap.Expr, time.Unix(int64(hour)*3600, 0))
		if err != nil {
			t.Fatal(err)
		}
		vector, err := query.Exec(t.Context()).Vector()
		if err != nil || len(vector) != want {
			t.Errorf("in hour %d %d alerts fire, want %d, error %v", hour, len(vector), want, err)
		}
		query.Close()
	}
}

// constant is a series that has one value all the time.
var constant = regexp.MustCompile(`^([\d.]+)x\d+$`)

// brief returns the changes so that they last for some minutes only. It returns false for counters, whose rates last longer.
func brief(changes map[string]string, minutes int) (map[string]string, bool) {
	short := map[string]string{}
	for name, values := range changes {
		before, problem := constant.FindStringSubmatch(healthy[name]), constant.FindStringSubmatch(values)
		if before == nil || problem == nil {
			return nil, false
		}
		short[name] = fmt.Sprintf("%sx9 %sx%d %sx%d", before[1], problem[1], minutes-1, before[1], length)
	}
	return short, true
}

// A person who is woken for what is over before they have read it soon reads no alert at all.
func TestNoAlertFiresForAProblemThatIsSoonOver(t *testing.T) {
	tested := 0
	for _, rule := range rules(t) {
		minutes := max(1, int(time.Duration(rule.For)/time.Minute))
		changes, possible := brief(problems[rule.Alert], minutes)
		if !possible {
			continue
		}
		tested++
		if fired := firing(t, with(changes)); slices.Contains(fired, rule.Alert) {
			t.Errorf("%s fires after %d minutes", rule.Alert, minutes)
		}
	}
	if tested < 8 {
		t.Errorf("only %d alerts were tested", tested)
	}
}

func TestEachAlertHasAPageAndEachPageAnAlert(t *testing.T) {
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	var headings, alerts []string
	for _, match := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(string(page), -1) {
		headings = append(headings, match[1])
	}
	for _, rule := range rules(t) {
		alerts = append(alerts, rule.Alert)
		want := "https://github.com/etcd-suite/etcd-operator/blob/main/docs/alerts.md#" + strings.ToLower(rule.Alert)
		if got := rule.Annotations["runbook_url"]; got != want {
			t.Errorf("%s has the runbook_url %q, want %s", rule.Alert, got, want)
		}
		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s lacks its severity, summary or description", rule.Alert)
		}
	}
	if !slices.Equal(headings, alerts) {
		t.Errorf("docs/alerts.md has the headings %v, want %v", headings, alerts)
	}
}
