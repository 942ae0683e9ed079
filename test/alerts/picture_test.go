package alerts

import (
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
)

var pictures = flag.Bool("pictures", false, "write the pictures of the dashboards into docs/images")

// Sizes in pixels of a panel, of the plot in it, and the most series of its legend.
const (
	panelWidth, panelHeight = 600, 230
	plotLeft, plotTop       = 70, 34
	plotWidth, plotHeight   = 515, 130
	maxLegend               = 6
)

var colours = []string{"#1f77b4", "#d95f02", "#2ca02c", "#c2185b", "#7b4fb5", "#8c564b", "#008b8b", "#7f7f7f"}

// A line of a panel.
type line struct {
	name   string
	points []promql.FPoint
}

// Panels without data in a good run would be pictures of nothing, or show that their query is wrong.
func TestEachPanelShowsARealRun(t *testing.T) {
	r := replay(t)
	for _, name := range []string{"cluster", "fleet"} {
		raw, err := os.ReadFile(files + "dashboards/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		var picture strings.Builder
		for i, p := range d.Panels {
			lines := r.lines(t, p)
			if len(lines) == 0 && p.Title != "Memory" { // the recorded members report no memory
				t.Errorf("%s: the panel %q has no data", d.Title, p.Title)
			}
			picture.WriteString(r.draw(i%2*(panelWidth+10), 30+i/2*(panelHeight+10), p, lines))
		}
		if !*pictures {
			continue
		}
		height := 30 + (len(d.Panels)+1)/2*(panelHeight+10)
		content := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">
<rect width="100%%" height="100%%" fill="#f4f5f5"/><text x="8" y="20" font-size="15" font-weight="bold">%s</text>
%s</svg>
`, 2*panelWidth+10, height, html.EscapeString(d.Title), picture.String())
		if err := os.WriteFile("../../docs/images/dashboard-"+name+".svg", []byte(content), 0o644); err != nil {
			t.Fatal(err)
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
		for _, series := range r.query(t, newEngine(), expression, 2*scrapeInterval) {
			name := placeholder.ReplaceAllStringFunc(target.LegendFormat, func(label string) string {
				return series.Metric.Get(placeholder.FindStringSubmatch(label)[1])
			})
			all = append(all, line{name, series.Floats})
		}
	}
	return all
}

// draw draws a panel. Dotted lines show when the steps of the run began.
func (r recording) draw(x, y int, p panel, lines []line) string {
	top := 0.0
	for _, l := range lines {
		for _, point := range l.points {
			if !math.IsNaN(point.F) && !math.IsInf(point.F, 0) {
				top = max(top, point.F)
			}
		}
	}
	if top == 0 {
		top = 1
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<g transform="translate(%d %d)"><rect width="%d" height="%d" rx="3" fill="#fff" stroke="#ddd"/>`, x, y, panelWidth, panelHeight)
	fmt.Fprintf(&s, `<text x="10" y="20" font-weight="bold">%s</text>`, html.EscapeString(p.Title))
	for _, share := range []float64{0, 0.5, 1} {
		at := plotTop + plotHeight*(1-share)
		fmt.Fprintf(&s, `<path d="M%d %.0fh%d" stroke="#eee"/><text x="%d" y="%.0f" text-anchor="end" fill="#555">%s</text>`,
			plotLeft, at, plotWidth, plotLeft-6, at+4, unit(top*share, p.FieldConfig.Defaults.Unit))
	}
	for i, step := range r.steps {
		at := r.x(int64(step.began / time.Millisecond))
		fmt.Fprintf(&s, `<path d="M%.0f %dv%d" stroke="#bbb" stroke-dasharray="2 3"/><text x="%.0f" y="%d" font-size="8" fill="#777">%s</text>`,
			at, plotTop, plotHeight, at+2, plotTop+plotHeight+10+i%2*9, step.name)
	}
	for i, l := range lines {
		colour := colours[i%len(colours)]
		fmt.Fprintf(&s, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, r.path(l.points, top), colour)
		if i < maxLegend {
			fmt.Fprintf(&s, `<text x="%d" y="%d" fill="%s">— %s</text>`, 12+i%3*195, plotTop+plotHeight+36+i/3*15, colour, html.EscapeString(l.name))
		}
	}
	if len(lines) > maxLegend {
		fmt.Fprintf(&s, `<text x="%d" y="20" text-anchor="end" fill="#777">and %d more</text>`, panelWidth-12, len(lines)-maxLegend)
	}
	s.WriteString("</g>\n")
	return s.String()
}

func (r recording) x(milliseconds int64) float64 {
	return plotLeft + plotWidth*float64(milliseconds)/float64(r.end.Milliseconds())
}

// path is a line with gaps where there is no sample.
func (r recording) path(points []promql.FPoint, top float64) string {
	var s strings.Builder
	last := int64(math.MinInt32)
	for _, point := range points {
		if math.IsNaN(point.F) || math.IsInf(point.F, 0) {
			continue
		}
		verb := "L"
		if point.T-last > (2 * scrapeInterval).Milliseconds() {
			verb = "M"
		}
		fmt.Fprintf(&s, "%s%.1f %.1f", verb, r.x(point.T), plotTop+plotHeight*(1-max(point.F, 0)/top))
		last = point.T
	}
	return s.String()
}

// unit writes a value with its unit, as Grafana does.
func unit(value float64, name string) string {
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	switch name {
	case "bytes":
		for _, prefix := range []string{"B", "KiB", "MiB"} {
			if value < 1024 {
				return short(value) + " " + prefix
			}
			value /= 1024
		}
		return short(value) + " GiB"
	case "s":
		switch {
		case value >= 86400:
			return short(value/86400) + " d"
		case value > 0 && value < 1:
			return short(value*1000) + " ms"
		}
		return short(value) + " s"
	case "percentunit":
		return short(value*100) + " %"
	case "ops", "reqps":
		return short(value) + "/s"
	}
	return short(value)
}
