package state_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

func TestProgressIsOneSentence(t *testing.T) {
	tests := map[string]struct {
		progress state.Progress
		want     string
	}{
		"a queued attempt":                           {state.Progress{}, "The attempt is queued. It starts when a worker of the operator is free."},
		"an attempt with a stage":                    {state.Progress{Stage: "reading"}, "The operator is reading."},
		"an attempt with bytes and a total":          {state.Progress{Stage: "streaming", Bytes: 3 << 19, About: 40 << 20}, "The operator is streaming: 1.5 MiB of about 40.0 MiB."},
		"an attempt with bytes and an unknown total": {state.Progress{Stage: "streaming", Bytes: 1 << 20}, "The operator is streaming: 1.0 MiB."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.progress.String(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
