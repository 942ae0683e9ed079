// Package child starts this program as a child process, which reads what another party wrote. The child has no credentials. What it says has a
// bound, because the bytes that it reads may be in it.
package child

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// MaxAnswer is more than the longest answer: a thousand member IDs of 21 bytes each, and a Text.
	MaxAnswer = 64 << 10
	// maxDiagnosis bounds what the parent keeps of standard error.
	maxDiagnosis = 4 << 10
	// maxText bounds the text of an error, which may contain keys of a database.
	maxText = 2000
)

// Process is a child that was not started yet.
type Process struct {
	*exec.Cmd
	answer, diagnosis head
}

// New returns this program as a child with its first argument. env is its whole environment.
func New(ctx context.Context, command string, env ...string) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program of the child process: %w", err)
	}
	p := &Process{Cmd: exec.CommandContext(ctx, program, command), answer: head{most: MaxAnswer}, diagnosis: head{most: maxDiagnosis}}
	p.Env = append([]string{}, env...) // not nil, which would be the environment of the parent
	p.Stdout, p.Stderr = &p.answer, &p.diagnosis
	return p, nil
}

// Answer is what a child that has ended has written, up to the bound. A longer answer is cut, so that it cannot be decoded.
func (p *Process) Answer() []byte { return p.answer.kept.Bytes() }

// Diagnosis is the beginning of the standard error of a child that has ended.
func (p *Process) Diagnosis() string { return p.diagnosis.kept.String() }

// Cause is the first line of a diagnosis. The lines after it are those of goroutines.
func Cause(diagnosis string) string {
	line, _, _ := strings.Cut(diagnosis, "\n")
	return planning.Shorten(line, maxText)
}

// Text is the text of an error in an answer. It is shortened when the child says it and when the parent reads it.
type Text string

// TextOf returns the Text of an error; empty for nil.
func TextOf(err error) Text {
	if err == nil {
		return ""
	}
	return Text(err.Error())
}

// MarshalText is what the child says.
func (t Text) MarshalText() ([]byte, error) { return []byte(planning.Shorten(string(t), maxText)), nil }

// UnmarshalText is what the parent reads.
func (t *Text) UnmarshalText(text []byte) error {
	*t = Text(planning.Shorten(string(text), maxText))
	return nil
}

// head keeps the first bytes that are written to it, so that no child fills the memory of the operator.
type head struct {
	most int
	kept bytes.Buffer
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.most - h.kept.Len(); room > 0 {
		h.kept.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
