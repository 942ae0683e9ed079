package main

import (
	"cmp"
	"maps"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

type cogQuery = variants.Dataquery

// A board is one dashboard.
type board struct {
	uid, title, about string
	variables         []cog.Builder[dashboard.VariableModel]
	sections          []section
}

// A section is a row of Grafana. Those with little to see on most days are folded.
type section struct {
	title  string
	folded bool
	views  []view
}

// uids of the three dashboards, which link to each other.
const fleetUID, clusterUID, backupsUID = "etcd-fleet", "etcd-cluster", "etcd-backups"

// links lead to the other two dashboards, with the time range. Only the dashboard of a cluster hands on its namespace: that of the
// backups may have several, and the others can show one.
func links(own string) []cog.Builder[dashboard.DashboardLink] {
	var all []cog.Builder[dashboard.DashboardLink]
	for _, other := range []struct{ uid, title, about string }{
		{fleetUID, "All clusters", "Every EtcdCluster, and the operators"},
		{clusterUID, "One cluster", "State, members, requests and disks of one EtcdCluster"},
		{backupsUID, "Backups", "Snapshots, archives, restore tests and restores"},
	} {
		if other.uid != own {
			all = append(all, dashboard.NewDashboardLinkBuilder(other.title).Type(dashboard.DashboardLinkTypeLink).Icon("dashboard").
				Tooltip(other.about).Url("/d/"+other.uid).KeepTime(true).IncludeVars(own == clusterUID))
		}
	}
	return all
}

func (b board) build() (dashboard.Dashboard, error) {
	variables := append([]cog.Builder[dashboard.VariableModel]{
		dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus"),
	}, b.variables...)
	builder := dashboard.NewDashboardBuilder(b.title).Uid(b.uid).Description(b.about).Tags([]string{"etcd"}).Editable().Refresh("30s").
		Time("now-3h", "now").Tooltip(dashboard.DashboardCursorSyncCrosshair).Links(links(b.uid)).Variables(variables)
	id := uint32(0)
	for _, s := range b.sections {
		id++
		row := dashboard.NewRowBuilder(s.title).Id(id).Collapsed(s.folded)
		var panels []cog.Builder[dashboard.Panel]
		for _, v := range s.views {
			id++
			panels = append(panels, placed{v, id})
		}
		if s.folded {
			for _, p := range panels {
				row = row.WithPanel(p)
			}
		}
		builder = builder.WithRow(row)
		if !s.folded {
			for _, p := range panels {
				builder = builder.WithPanel(p)
			}
		}
	}
	made, err := builder.Build()
	for i := range made.Links {
		made.Links[i].Placement = nil // visible, and not in a menu
	}
	return made, err
}

// placed is a view with its number. The builder of the dashboard places it.
type placed struct {
	view
	id uint32
}

// Build adds what panels of all kinds have.
func (p placed) Build() (dashboard.Panel, error) {
	made, err := p.panel()
	if err != nil {
		return made, err
	}
	v := p.view
	made.Id, made.Title, made.Description, made.Datasource = &p.id, &v.title, &v.about, &source
	size := dashboard.GridPos{H: viewHeight, W: viewWidth}
	if v.kind == tile {
		size = dashboard.GridPos{H: tileHeight, W: tileWidth}
	}
	size.W = cmp.Or(v.width, size.W)
	made.GridPos = &size
	if made.FieldConfig == nil {
		made.FieldConfig = dashboard.NewFieldConfigSource()
	}
	config := &made.FieldConfig.Defaults
	config.NoValue = &v.none
	if v.unit != "" {
		config.Unit = &v.unit
	}
	if v.kind == lines {
		config.Min = cog.ToPtr(0.0)
	}
	config.Mappings = v.words.mapping()
	if v.kind == tile {
		config.Mappings = append(config.Mappings, v.absent())
	}
	config.Thresholds, config.Color = v.limits.thresholds(), v.tint()
	for _, name := range slices.Sorted(maps.Keys(v.unlike)) {
		made.FieldConfig.Overrides = append(made.FieldConfig.Overrides, dashboard.DashboardFieldConfigSourceOverrides{
			Matcher: dashboard.MatcherConfig{Id: "byName", Options: name}, Properties: v.unlike[name].properties(v.kind),
		})
	}
	return made, nil
}

// tint is how the values of a panel get their colours.
func (v view) tint() *dashboard.FieldColor {
	switch {
	case v.colour != "":
		return &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdFixed, FixedColor: &v.colour}
	case v.kind == lines:
		return &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdPaletteClassic}
	}
	return &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdThresholds}
}

func (w words) mapping() []dashboard.ValueMapping {
	if len(w) == 0 {
		return nil
	}
	options := map[string]dashboard.ValueMappingResult{}
	for i, one := range w {
		options[one.value] = dashboard.ValueMappingResult{Text: &one.text, Color: &one.colour, Index: cog.ToPtr(int32(i))}
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options}}}
}

// thresholds begin with the colour of all smaller values, which has no number.
func (l limits) thresholds() *dashboard.ThresholdsConfig {
	config := &dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: []dashboard.Threshold{{Color: plain}}}
	for i, one := range l {
		if i == 0 {
			config.Steps[0].Color = one.colour
			continue
		}
		config.Steps = append(config.Steps, dashboard.Threshold{Value: &one.from, Color: one.colour})
	}
	return config
}

// absent is what a tile shows without a result.
func (v view) absent() dashboard.ValueMapping {
	colour := cmp.Or(v.alarming, grey)
	return dashboard.ValueMapping{SpecialValueMap: &dashboard.SpecialValueMap{
		Type: dashboard.MappingTypeSpecialValue,
		Options: dashboard.DashboardSpecialValueMapOptions{
			Match: dashboard.SpecialValueMatchNullAndNan, Result: dashboard.ValueMappingResult{Text: &v.none, Color: &colour},
		},
	}}
}

func (l look) properties(of kind) []dashboard.DynamicConfigValue {
	var all []dashboard.DynamicConfigValue
	add := func(id string, value any) { all = append(all, dashboard.DynamicConfigValue{Id: id, Value: value}) }
	if l.unit != "" {
		add("unit", l.unit)
	}
	if l.words != nil {
		add("mappings", l.words.mapping())
	}
	if l.limits != nil {
		add("thresholds", l.limits.thresholds())
		add("color", map[string]any{"mode": dashboard.FieldColorModeIdThresholds})
	}
	if l.colour != "" {
		add("color", map[string]any{"mode": dashboard.FieldColorModeIdFixed, "fixedColor": l.colour})
	}
	if of == rows && (l.words != nil || l.limits != nil) {
		add("custom.cellOptions", map[string]any{"type": "color-text"})
	}
	if l.link != "" {
		add("links", []any{map[string]any{"title": l.linkTitle, "url": l.link}})
	}
	if l.wide != 0 {
		add("custom.width", l.wide)
	}
	return all
}
