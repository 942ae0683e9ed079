package sweep

import (
	"fmt"
	"testing"
)

func TestAllPointsAreTriedByDefault(t *testing.T) {
	s, err := read(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if got := s.count(1000); got != 1000 {
		t.Errorf("%d of 1000 points are selected, expected all", got)
	}
}

func TestOneInFivePointsAreTriedAndTheSeedRepeatsThem(t *testing.T) {
	set := map[string]string{"SWEEP_ONE_IN": "5", "SWEEP_SEED": "7"}
	first, err := read(func(name string) string { return set[name] })
	if err != nil {
		t.Fatal(err)
	}
	if got := first.count(1000); got < 150 || got > 250 {
		t.Errorf("%d of 1000 points are selected, expected about 200", got)
	}
	again, _ := read(func(name string) string { return set[name] })
	set["SWEEP_SEED"] = "8"
	other, _ := read(func(name string) string { return set[name] })
	same, different := true, false
	for i := range 1000 {
		same = same && first.has(point(i)) == again.has(point(i))
		different = different || first.has(point(i)) != other.has(point(i))
	}
	if !same || !different {
		t.Errorf("the same seed repeats the choice: %t; another seed changes it: %t", same, different)
	}
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	for name, value := range map[string]string{"SWEEP_ONE_IN": "0", "SWEEP_SEED": "random"} {
		if _, err := read(func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		}); err == nil {
			t.Errorf("%s=%s is accepted, so a sweep could try nothing", name, value)
		}
	}
}

func point(i int) string { return fmt.Sprintf("%d patch EtcdCluster example 1", i) }

func (s selection) count(n int) (selected int) {
	for i := range n {
		if s.has(point(i)) {
			selected++
		}
	}
	return selected
}
