package alerts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// Sizes in pixels of a plot in its panel, of a row of a table or timeline, and the most series of a legend.
const (
	plotLeft, plotTop, plotRight = 70, 34, 15
	plotBottom, lineHeight       = 58, 22
	maxLegend                    = 6
)

var colours = []string{"#1f77b4", "#d95f02", "#2ca02c", "#c2185b", "#7b4fb5", "#8c564b", "#008b8b", "#7f7f7f"}

// named are Grafana's colours, a little darker, so that white text on them is legible.
var named = map[string]string{"green": "#37872d", "orange": "#e0751a", "red": "#c4162a", "blue": "#1f60c4", "text": "#24292e"}

// A box is a panel with its size and its series.
type box struct {
	recording
	panel
	w, h  int
	lines []line
}

// look is how a series or column is shown: the defaults with its overrides.
func (b box) look(name string) config {
	c := b.FieldConfig.Defaults
	for _, o := range b.FieldConfig.Overrides {
		if o.Matcher.Options != name {
			continue
		}
		for _, property := range o.Properties {
			var own config // the slices of the defaults must not be written
			into := map[string]any{"unit": &own.Unit, "mappings": &own.Mappings, "thresholds": &own.Thresholds, "color": &own.Color}[property.ID]
			if into == nil || json.Unmarshal(property.Value, into) != nil {
				continue // a column's width, or what the test of the schema reports
			}
			switch property.ID {
			case "unit":
				c.Unit = own.Unit
			case "mappings":
				c.Mappings = own.Mappings
			case "thresholds":
				c.Thresholds = own.Thresholds
			case "color":
				c.Color = own.Color
			}
		}
	}
	return c
}

// show returns text and colour of a value.
func (c config) show(value float64) (text, colour string) {
	text, colour = unit(value, c.Unit), "text"
	for _, step := range c.Thresholds.Steps {
		if step.Value == nil || value >= *step.Value {
			colour = step.Color
		}
	}
	if c.Color.Mode == "fixed" {
		colour = c.Color.FixedColor
	}
	for _, m := range c.Mappings {
		var word struct{ Text, Color string }
		raw, ok := m.Options[strconv.FormatFloat(value, 'f', -1, 64)]
		if m.Type == "value" && ok && json.Unmarshal(raw, &word) == nil {
			text, colour = word.Text, word.Color
		}
	}
	return text, cmp.Or(named[colour], colour)
}

// tile draws the present values. It is coloured if its panel is.
func (b box) tile() string {
	var s strings.Builder
	width := b.w / max(1, len(b.lines))
	for i, l := range b.lines {
		text, colour := b.look(l.name).show(l.last())
		if b.Options.TextMode == "name" {
			text = l.name
		}
		ink := colour
		if b.Options.ColorMode == "background" {
			fmt.Fprintf(&s, `<rect x="%d" width="%d" height="%d" rx="3" fill="%s"/>`, i*width, width, b.h, colour)
			ink = "#fff"
		}
		size := max(11, min(30, width*13/10/max(1, len(text))))
		fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="middle" font-size="%d" font-weight="bold" fill="%s">%s</text>`,
			i*width+width/2, b.h/2+14, size, ink, html.EscapeString(text))
		if b.Options.TextMode == "value_and_name" || len(b.lines) > 1 {
			fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="middle" fill="%s">%s</text>`, i*width+width/2, b.h-12, ink, html.EscapeString(l.name))
		}
	}
	ink := "#fff"
	if len(b.lines) == 0 {
		fmt.Fprintf(&s, `<rect width="%d" height="%d" rx="3" fill="#808080"/><text x="%d" y="%d" text-anchor="middle" font-size="16" fill="#fff">%s</text>`,
			b.w, b.h, b.w/2, b.h/2+12, html.EscapeString(b.FieldConfig.Defaults.NoValue))
	} else if b.Options.ColorMode != "background" {
		ink = "#24292e"
	}
	fmt.Fprintf(&s, `<text x="10" y="20" font-weight="bold" fill="%s">%s</text>`, ink, html.EscapeString(b.Title))
	return s.String()
}

// timeline draws a row for each series, in which equal values are one bar.
func (b box) timeline() string {
	var s strings.Builder
	left := b.w / 3
	height := min(lineHeight, (b.h-plotTop-20)/len(b.lines))
	at := func(milliseconds int64) int {
		return left + int(float64(b.w-left-plotRight)*float64(milliseconds)/float64(b.end.Milliseconds()))
	}
	for i, l := range b.lines {
		y, look := plotTop+i*height, b.look(l.name)
		fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="end" fill="#555">%s</text>`, left-8, y+height-6, html.EscapeString(l.name))
		for from := 0; from < len(l.points); {
			to := from
			for to+1 < len(l.points) && l.points[to+1].F == l.points[from].F && l.points[to+1].T-l.points[to].T <= (2*scrapeInterval).Milliseconds() {
				to++
			}
			text, colour := look.show(l.points[from].F)
			x, end := at(l.points[from].T), at(l.points[to].T+(2*scrapeInterval).Milliseconds())
			width := min(end, b.w-plotRight) - x
			fmt.Fprintf(&s, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, x, y, width, height-4, colour)
			if width > 8*len(text) {
				fmt.Fprintf(&s, `<text x="%d" y="%d" fill="#fff">%s</text>`, x+4, y+height-8, html.EscapeString(text))
			}
			from = to + 1
		}
	}
	return s.String() + b.named(left, b.w-left-plotRight, plotTop, b.h-plotTop-20)
}

// table draws one row for each result of the first query. Other queries add the values with the same labels.
func (b box) table() string {
	fields, titles := b.columns()
	var s strings.Builder
	width := (b.w - 20) / len(fields)
	for i, field := range fields {
		fmt.Fprintf(&s, `<text x="%d" y="%d" fill="#777">%s</text>`, 10+i*width, plotTop+10, titles[field])
		for row, l := range b.lines {
			if l.query != "A" {
				continue
			}
			text, colour := l.labels.Get(field), named["text"]
			look := b.look(titles[field])
			if query, ok := strings.CutPrefix(field, "Value"); ok {
				for _, other := range b.lines {
					if other.query == cmp.Or(strings.TrimPrefix(query, " #"), "A") && other.labels.Get("name") == l.labels.Get("name") && (query != "" || other.labels.Hash() == l.labels.Hash()) {
						text, colour = look.show(other.last())
					}
				}
			} else if text == "Ready" {
				colour = named["green"]
			}
			fmt.Fprintf(&s, `<text x="%d" y="%d" fill="%s">%s</text>`, 10+i*width, plotTop+32+row*lineHeight, colour, html.EscapeString(text))
		}
	}
	return s.String()
}

// nothing says why a panel has no data.
func (b box) nothing() string {
	return fmt.Sprintf(`<text x="%d" y="%d" text-anchor="middle" fill="#777">%s</text>`, b.w/2, b.h/2+5, html.EscapeString(b.FieldConfig.Defaults.NoValue))
}

// graph draws lines. Dotted ones show when the steps of the run began.
func (b box) graph() string {
	width, height := b.w-plotLeft-plotRight, b.h-plotTop-plotBottom
	top := 0.0
	for _, l := range b.lines {
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
	for _, share := range []float64{0, 0.5, 1} {
		at := plotTop + float64(height)*(1-share)
		fmt.Fprintf(&s, `<path d="M%d %.0fh%d" stroke="#eee"/><text x="%d" y="%.0f" text-anchor="end" fill="#555">%s</text>`,
			plotLeft, at, width, plotLeft-6, at+4, unit(top*share, b.FieldConfig.Defaults.Unit))
	}
	s.WriteString(b.named(plotLeft, width, plotTop, height))
	for i, l := range b.lines {
		colour := colours[i%len(colours)]
		fmt.Fprintf(&s, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, b.path(l.points, top, width, height), colour)
		if i < maxLegend {
			fmt.Fprintf(&s, `<text x="%d" y="%d" fill="%s">— %s</text>`, 12+i%3*(b.w-20)/3, b.h-20+i/3*14, colour, html.EscapeString(l.name))
		}
	}
	if len(b.lines) > maxLegend {
		fmt.Fprintf(&s, `<text x="%d" y="20" text-anchor="end" fill="#777">and %d more</text>`, b.w-12, len(b.lines)-maxLegend)
	}
	return s.String()
}

// named draws a dotted line where each step of the run begins.
func (b box) named(left, width, top, height int) string {
	var s strings.Builder
	for i, step := range b.steps {
		x := float64(left) + float64(width)*float64(step.began)/float64(b.end)
		fmt.Fprintf(&s, `<path d="M%.0f %dv%d" stroke="#bbb" stroke-dasharray="2 3"/><text x="%.0f" y="%d" font-size="8" fill="#777">%s</text>`,
			x, top, height, x+2, top+height+8+i%2*8, step.name)
	}
	return s.String()
}

// path is a line with gaps where there is no sample.
func (b box) path(points []promql.FPoint, top float64, width, height int) string {
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
		x := plotLeft + float64(width)*float64(point.T)/float64(b.end.Milliseconds())
		fmt.Fprintf(&s, "%s%.1f %.1f", verb, x, plotTop+float64(height)*(1-max(point.F, 0)/top))
		last = point.T
	}
	return s.String()
}

// unit writes a value with its unit, as Grafana does.
func unit(value float64, name string) string {
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	switch name {
	case "bytes", "Bps":
		for _, prefix := range []string{"B", "KiB", "MiB", "GiB"} {
			if math.Abs(value) < 1024 || prefix == "GiB" {
				return short(value) + " " + prefix + map[bool]string{true: "/s"}[name == "Bps"]
			}
			value /= 1024
		}
	case "s":
		switch elapsed := time.Duration(value * float64(time.Second)); {
		case elapsed >= 24*time.Hour:
			return short(elapsed.Hours()/24) + " days"
		case elapsed >= time.Hour:
			return short(elapsed.Hours()) + " hours"
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
