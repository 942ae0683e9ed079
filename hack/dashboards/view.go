package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// A kind is how a panel shows its queries.
type kind int

const (
	tile   kind = iota // the present value, large
	states             // how long each state lasted
	lines              // values over time
	rows               // a table of present values
)

// Heights of panels, in units of Grafana's grid. All tiles are as wide as each other, and so are the other panels.
const (
	tileHeight, tileWidth = 4, 4
	viewHeight, viewWidth = 8, 12
)

// A view is one panel.
type view struct {
	kind         kind
	title, about string
	// none is what the panel shows if its queries have no result, so that no panel is empty without a reason.
	none string
	// alarming is the colour of a tile without a result. Usually that is grey.
	alarming string
	unit     string
	width    uint32 // 0 means that of its kind
	queries  []query
	// words are the texts and colours of single values, and limits are the colours from a value on.
	words  words
	limits limits
	// colour is that of all values if there are neither words nor limits.
	colour string
	// nameOnly means that a tile shows the legend in place of a value that is always 1.
	nameOnly bool
	// columns are the fields of a table in their order, and hidden are those that it leaves out.
	columns []column
	hidden  []string
	// unlike are series or columns that are shown in another way, by their names.
	unlike map[string]look
}

type query struct{ expr, legend string }

type word struct{ value, text, colour string }

type words []word

type limit struct {
	from   float64
	colour string
}

type limits []limit

// A look is how one series or column differs from the others of its panel.
type look struct {
	unit   string
	words  words
	limits limits
	colour string
	// link is where a click on the value leads.
	link, linkTitle string
	// wide is the width of a column in pixels.
	wide float64
}

type column struct{ field, title string }

// Colours of values with and without a problem, and of those that are neither.
const (
	good, warn, bad, calm, grey, plain = "green", "orange", "red", "blue", "#808080", "text"
)

// yes is good, or no is.
var (
	yesIsGood = words{{"1", "yes", good}, {"0", "no", bad}}
	yesIsBad  = words{{"0", "no", good}, {"1", "yes", bad}}
	yesIsWork = words{{"0", "no", good}, {"1", "yes", calm}}
)

// source is the Prometheus that the user selects at the top.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

// letters name the queries of a panel.
const letters = "ABCDEFGHIJKL"

func (v view) targets() []cog.Builder[cogQuery] {
	var all []cog.Builder[cogQuery]
	for i, q := range v.queries {
		target := prometheus.NewDataqueryBuilder().RefId(letters[i : i+1]).Expr(q.expr).LegendFormat(q.legend).Datasource(source)
		switch v.kind {
		case tile:
			target = target.Instant()
		case rows:
			target = target.Instant().Format(prometheus.PromQueryFormatTable)
		default:
			target = target.Range()
		}
		all = append(all, target)
	}
	return all
}

// panel builds what differs between the kinds. The rest is in settle.
func (v view) panel() (dashboard.Panel, error) {
	switch v.kind {
	case tile:
		text := common.BigValueTextModeAuto
		if v.nameOnly {
			text = common.BigValueTextModeName
		} else if len(v.queries) > 1 {
			text = common.BigValueTextModeValueAndName
		}
		tinted := common.BigValueColorModeBackground
		if v.colour == "" && v.words == nil && v.limits == nil {
			tinted = common.BigValueColorModeValue
		}
		return stat.NewPanelBuilder().Targets(v.targets()).TextMode(text).ColorMode(tinted).Orientation(common.VizOrientationAuto).
			GraphMode(common.BigValueGraphModeNone).ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).Build()
	case states:
		return statetimeline.NewPanelBuilder().Targets(v.targets()).MergeValues(true).ShowValue(common.VisibilityModeAuto).RowHeight(0.8).
			FillOpacity(80).LineWidth(0).Legend(common.NewVizLegendOptionsBuilder().ShowLegend(false)).Build()
	case rows:
		return table.NewPanelBuilder().Targets(v.targets()).Transformations(v.merged()).Filterable(true).
			Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{})).Build()
	}
	return timeseries.NewPanelBuilder().Targets(v.targets()).FillOpacity(8).LineWidth(1).ShowPoints(common.VisibilityModeNever).
		LineInterpolation(common.LineInterpolationStepAfter).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).Build()
}

// merged makes one row of the results with equal labels, and leaves out the time and what is hidden.
func (v view) merged() []dashboard.DataTransformerConfig {
	hide, rename, order := map[string]any{"Time": true}, map[string]any{}, map[string]any{}
	for _, field := range v.hidden {
		hide[field] = true
	}
	for i, c := range v.columns {
		rename[c.field], order[c.field] = c.title, i
	}
	return []dashboard.DataTransformerConfig{
		{Id: "merge", Options: map[string]any{}},
		{Id: "organize", Options: map[string]any{"excludeByName": hide, "renameByName": rename, "indexByName": order}},
	}
}
