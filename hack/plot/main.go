// Plot draws the table of a Markdown page whose first column is N, the number of clusters.
//
//	go run . docs/performance.md docs/images/scale.svg
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	width  = 13 * vg.Centimeter // of one panel
	height = 8 * vg.Centimeter
)

// panels are what is drawn side by side. Each line is a column of the table.
var panels = []struct {
	title, unit string
	columns     []string
}{
	{"Time", "seconds", []string{"all Ready", "restart"}},
	{"Cost when idle", "MiB, % of a core", []string{"memory", "CPU"}},
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run . PAGE.md PICTURE.svg")
		os.Exit(1)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(page, picture string) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	t, err := parse(string(content))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	svg, err := t.draw()
	if err != nil {
		return fmt.Errorf("draw the table: %w", err)
	}
	file, err := os.Create(picture)
	if err != nil {
		return fmt.Errorf("create the picture: %w", err)
	}
	if _, err := svg.WriteTo(file); err != nil {
		_ = file.Close()
		return fmt.Errorf("write the picture: %w", err)
	}
	return file.Close()
}

// A table has a column for each name, and in it the first number of each cell.
type table map[string][]float64

// parse reads the table whose first column is N.
func parse(page string) (table, error) {
	var names []string
	columns := table{}
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		cells := strings.Split(strings.Trim(strings.TrimSpace(lines.Text()), "|"), "|")
		switch first := strings.TrimSpace(cells[0]); {
		case first == "N":
			for _, cell := range cells {
				names = append(names, strings.TrimSpace(cell))
			}
		case names == nil || strings.HasPrefix(first, "---"):
		case len(cells) != len(names):
			return columns, nil
		default:
			for i, cell := range cells {
				value, err := number(cell)
				if err != nil {
					return nil, fmt.Errorf("column %q: %w", names[i], err)
				}
				columns[names[i]] = append(columns[names[i]], value)
			}
		}
	}
	if names == nil {
		return nil, errors.New("no table has the first column N")
	}
	return columns, nil
}

// number reads the number at the beginning of a cell.
func number(cell string) (float64, error) {
	digits, _, _ := strings.Cut(strings.TrimSpace(cell), " ")
	return strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
}

func (t table) draw() (*vgsvg.Canvas, error) {
	svg := vgsvg.New(width*vg.Length(len(panels)), height)
	whole := draw.New(svg)
	for i, panel := range panels {
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = panel.title, "EtcdClusters", panel.unit
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.Y.Min, p.Legend.Top, p.Legend.Left = 0, true, true
		p.Add(plotter.NewGrid())
		var lines []any
		for _, name := range panel.columns {
			var points plotter.XYs
			for row, n := range t["N"] {
				if row >= len(t[name]) {
					return nil, fmt.Errorf("the table has no column %q", name)
				}
				points = append(points, plotter.XY{X: n, Y: t[name][row]})
			}
			lines = append(lines, name, points)
		}
		if err := plotutil.AddLinePoints(p, lines...); err != nil {
			return nil, err
		}
		p.X.Max *= 1.2 // room for the last label
		p.Draw(draw.Crop(whole, width*vg.Length(i), -width*vg.Length(len(panels)-1-i), 0, 0))
	}
	return svg, nil
}
