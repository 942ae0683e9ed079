package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

func TestKeepWithinHasNumbersWithUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "2w": 14 * 24 * time.Hour, "1d12h": 36 * time.Hour, "90m30s": 90*time.Minute + 30*time.Second,
		"99999w": state.Century, "99999w99999w99999w": state.Century,
	} {
		if got, err := state.KeepWithin(text); err != nil || got != want {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"1", "d", "1y", "-1d", "1.5d", "100000d", "1d 2h"} {
		if got, err := state.KeepWithin(text); err == nil || !strings.Contains(err.Error(), "2w") {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}
