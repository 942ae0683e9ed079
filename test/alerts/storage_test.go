package alerts

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// newStorage holds series in memory. Their values are in the notation of Prometheus' rule tests, one for each interval from 0 on. The
// database of Prometheus is not used, because it needs the libraries of all clouds.
func newStorage(t *testing.T, series map[string]string, interval time.Duration) storage.Queryable {
	t.Helper()
	var all []storage.Series
	for name, values := range series {
		lset, sequence, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(name + " " + values)
		if err != nil {
			t.Fatalf("%s %s: %v", name, values, err)
		}
		var samples []chunks.Sample
		for n, value := range sequence {
			if !value.Omitted {
				samples = append(samples, sample{int64(n) * interval.Milliseconds(), value.Value})
			}
		}
		all = append(all, storage.NewListSeries(lset, samples))
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return &found{series: slices.DeleteFunc(slices.Clone(all), func(s storage.Series) bool {
				return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
			})}
		},
	}}
}

// found are the series of a query.
type found struct {
	series []storage.Series
	next   int
}

func (f *found) Next() bool                      { f.next++; return f.next <= len(f.series) }
func (f *found) At() storage.Series              { return f.series[f.next-1] }
func (*found) Err() error                        { return nil }
func (*found) Warnings() annotations.Annotations { return nil }

// sample is a number at a time in milliseconds.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                    { return s.at }
func (sample) ST() int64                     { return math.MinInt64 }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
