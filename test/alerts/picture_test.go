package alerts

import (
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

var pictures = flag.Bool("pictures", false, "write the pictures of the dashboards into docs/images")

// A line is one series of a panel.
type line struct {
	name   string
	query  string // the letter of its query
	labels labels.Labels
	points []promql.FPoint
}

// last is the present value.
func (l line) last() float64 { return l.points[len(l.points)-1].F }

// quietDay are panels that show only what went wrong. On a good day they say that there is nothing.
var quietDay = []string{"Failed requests", "Clusters with a problem", "Failed attempts in an hour", "Restores under way", "Failed restores"}

// Panels without data in a good run would look broken, or show that their query is wrong.
func TestEachPanelShowsARealRun(t *testing.T) {
	quiet := replay(t, nil).before("lose quorum")
	for name, d := range dashboards(t) {
		shown := map[int][]line{}
		for _, p := range d.views() {
			shown[p.ID] = quiet.lines(t, p)
			if len(shown[p.ID]) == 0 && !slices.Contains(quietDay, p.Title) && p.Title != "Memory" && p.Title != "CPU" { // those are unrecorded
				t.Errorf("%s: the panel %q has no data", d.Title, p.Title)
			}
		}
		if *pictures && name != "backups" { // its series are made
			if err := os.WriteFile("../../docs/images/dashboard-"+name+".svg", []byte(quiet.picture(d, shown)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPanelsOfTroubleShowIt(t *testing.T) {
	day := replay(t, troubled)
	for _, d := range dashboards(t) {
		for _, p := range d.views() {
			if slices.Contains(quietDay, p.Title) && len(day.lines(t, p)) == 0 {
				t.Errorf("%s: the panel %q has no data on a bad day", d.Title, p.Title)
			}
		}
	}
}

var placeholder = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// lines evaluates the queries of a panel.
func (r recording) lines(t *testing.T, p panel) []line {
	t.Helper()
	var all []line
	for _, target := range p.Targets {
		expression := strings.NewReplacer("$namespace", "default", "$cluster", "example").Replace(target.Expr)
		from := r.end - r.end%(2*scrapeInterval)
		if !target.Instant {
			from = 0
		}
		for _, series := range r.query(t, newEngine(2*scrapeInterval), expression, from, 2*scrapeInterval) {
			if len(series.Floats) == 0 {
				continue
			}
			name := placeholder.ReplaceAllStringFunc(target.LegendFormat, func(label string) string {
				return series.Metric.Get(placeholder.FindStringSubmatch(label)[1])
			})
			all = append(all, line{name, target.RefID, series.Metric, series.Floats})
		}
	}
	return all
}

// Sizes in pixels of a cell of Grafana's grid, and of the space between two panels.
const cellWidth, cellHeight, gap, headHeight = 50, 30, 8, 34

// picture draws a dashboard as it is without its folded rows.
func (r recording) picture(d dashboard, shown map[int][]line) string {
	var s strings.Builder
	bottom := 0
	for _, p := range d.Panels {
		x, y, w, h := p.GridPos.X*cellWidth, headHeight+p.GridPos.Y*cellHeight, p.GridPos.W*cellWidth-gap, p.GridPos.H*cellHeight-gap
		bottom = max(bottom, y+h)
		fmt.Fprintf(&s, `<g transform="translate(%d %d)">`, x, y)
		if p.Type == "row" {
			sign := "▾"
			if len(p.Panels) > 0 {
				sign = "▸"
			}
			fmt.Fprintf(&s, `<text x="4" y="19" font-size="14" font-weight="bold">%s %s</text></g>`+"\n", sign, html.EscapeString(p.Title))
			continue
		}
		b := box{r, p, w, h, shown[p.ID]}
		fmt.Fprintf(&s, `<rect width="%d" height="%d" rx="3" fill="#fff" stroke="#ddd"/>`, w, h)
		if p.Type != "stat" {
			fmt.Fprintf(&s, `<text x="10" y="20" font-weight="bold">%s</text>`, html.EscapeString(p.Title))
		}
		draw := map[string]func() string{"stat": b.tile, "state-timeline": b.timeline, "table": b.table, "timeseries": b.graph}[p.Type]
		if len(b.lines) == 0 && p.Type != "stat" {
			draw = b.nothing
		}
		s.WriteString(draw() + "</g>\n")
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">
<rect width="100%%" height="100%%" fill="#f4f5f5"/><text x="8" y="22" font-size="16" font-weight="bold">%s</text>
%s</svg>
`, 24*cellWidth, bottom+gap, html.EscapeString(d.Title), s.String())
}

// columns are the titles of a table by the names of their fields, in their order.
func (p panel) columns() (fields []string, titles map[string]string) {
	for _, change := range p.Transformations {
		if change.ID == "organize" {
			titles = change.Options.RenameByName
			fields = slices.SortedFunc(maps.Keys(titles), func(a, b string) int { return change.Options.IndexByName[a] - change.Options.IndexByName[b] })
		}
	}
	return fields, titles
}
