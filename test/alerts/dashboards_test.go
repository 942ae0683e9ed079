package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A dashboard is the part of Grafana's JSON that matters here.
type dashboard struct {
	UID, Title, Description string
	Links                   []struct{ Title, URL string }
	Templating              struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Title, Type, Description string
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct {
		Defaults  config
		Overrides []override
	}
	Options struct {
		TextMode, ColorMode string
	}
	Targets         []target
	Transformations []struct {
		ID      string
		Options struct {
			RenameByName map[string]string
			IndexByName  map[string]int
		}
	}
	Panels []panel // of a folded row
}

type target struct {
	Expr, RefID, LegendFormat string
	Instant                   bool
}

// A config is how values are shown.
type config struct {
	Unit, NoValue string
	Mappings      []mapping
	Thresholds    thresholds
	Color         struct{ Mode, FixedColor string }
}

type mapping struct {
	Type    string
	Options map[string]json.RawMessage
}

type thresholds struct {
	Steps []struct {
		Value *float64
		Color string
	}
}

// An override is what differs for one series or column.
type override struct {
	Matcher    struct{ Options string }
	Properties []struct {
		ID    string
		Value json.RawMessage
	}
}

// views are the panels without the rows, also those in folded rows.
func (d dashboard) views() []panel {
	var all []panel
	for _, p := range d.Panels {
		if p.Type == "row" {
			all = append(all, p.Panels...)
		} else {
			all = append(all, p)
		}
	}
	return all
}

// dashboards are those of the chart by the names of their files, without the ending.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	paths, err := filepath.Glob(files + "dashboards/*.json")
	if err != nil || len(paths) != 3 {
		t.Fatalf("found the dashboards %v, error %v", paths, err)
	}
	all := map[string]dashboard{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = d
	}
	return all
}

func TestPanelsNameMetricsThatExist(t *testing.T) {
	metrics := exported(t)
	for _, d := range dashboards(t) {
		for _, p := range d.views() {
			if len(p.Targets) == 0 {
				t.Errorf("%s: %s has no query", d.Title, p.Title)
			}
			for _, target := range p.Targets {
				check(t, d.Title+": "+p.Title, target.Expr, metrics)
			}
		}
		for _, v := range d.Templating.List {
			if metric, ok := strings.CutPrefix(v.Query, "label_values("); ok {
				check(t, d.Title+": "+v.Name, strings.SplitN(strings.SplitN(metric, ", ", 2)[0], ")", 2)[0], metrics)
			}
		}
	}
}

// A panel without a description leaves its reader to guess what a value means. A panel that is empty without a reason looks broken.
func TestEachPanelSaysWhatItShowsAndWhyItMayBeEmpty(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z](?s:.{20,})\.$`)
	for _, d := range dashboards(t) {
		for _, p := range d.views() {
			if !sentence.MatchString(p.Description) {
				t.Errorf("%s: %s has the description %q, want a sentence", d.Title, p.Title, p.Description)
			}
			if p.FieldConfig.Defaults.NoValue == "" {
				t.Errorf("%s: %s does not say what it means if there is no value", d.Title, p.Title)
			}
		}
	}
}

// A dashboard is read from its top: first whether all is well, and then since when.
func TestADashboardBeginsWithTiles(t *testing.T) {
	for _, d := range dashboards(t) {
		if d.Description == "" || d.Panels[0].Type != "row" {
			t.Errorf("%s has the description %q, and begins with a panel of type %s", d.Title, d.Description, d.Panels[0].Type)
		}
		views, later := d.views(), false
		for i, p := range views {
			if i < 6 && p.Type != "stat" || later && p.Type == "stat" {
				t.Errorf("%s: %s has the type %s in place %d: six tiles or more come first", d.Title, p.Title, p.Type, i)
			}
			later = p.Type != "stat"
		}
		if !slices.ContainsFunc(views, func(p panel) bool { return p.Type == "state-timeline" }) {
			t.Errorf("%s shows no state as a timeline", d.Title)
		}
	}
}

// Who finds a cluster in the fleet wants to see the cluster next.
func TestTheDashboardsLinkToEachOther(t *testing.T) {
	var urls []string
	all := dashboards(t)
	for _, d := range all {
		urls = append(urls, "/d/"+d.UID)
	}
	inside := regexp.MustCompile(`"/d/[^"?]*`)
	for name, d := range all {
		var to []string
		for _, link := range d.Links {
			to = append(to, link.URL)
		}
		slices.Sort(to)
		want := slices.DeleteFunc(slices.Clone(urls), func(url string) bool { return url == "/d/"+d.UID })
		if slices.Sort(want); !slices.Equal(to, want) {
			t.Errorf("%s links to %q, want %q", d.Title, to, want)
		}
		raw, err := os.ReadFile(files + "dashboards/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range inside.FindAllString(string(raw), -1) {
			if !slices.Contains(urls, url[1:]) {
				t.Errorf("%s links to %s, which is no dashboard of the chart", d.Title, url[1:])
			}
		}
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	for _, d := range dashboards(t) {
		taken, ids := map[[2]int]string{}, map[int]bool{}
		all := d.views()
		for _, p := range d.Panels {
			if p.Type == "row" {
				all = append(all, p)
			}
		}
		for _, p := range all {
			if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W*p.GridPos.H == 0 {
				t.Errorf("%s: %s has no number or place of its own: %+v", d.Title, p.Title, p)
			}
			ids[p.ID] = true
			for i := range p.GridPos.W * p.GridPos.H {
				cell := [2]int{p.GridPos.X + i%p.GridPos.W, p.GridPos.Y + i/p.GridPos.W}
				if other := taken[cell]; other != "" {
					t.Errorf("%s: %s overlaps %s", d.Title, p.Title, other)
				}
				taken[cell] = p.Title
			}
		}
	}
}
