package session

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Confirm asks on a terminal. Without a terminal and without --yes it refuses.
func (p *Session) Confirm(ctx context.Context, question string) error {
	if p.Yes {
		return nil
	}
	if !p.Terminal {
		return fmt.Errorf("the command asks before a change, and standard input is no terminal. Nothing was changed. To accept the change, run the command again with --yes. The change is: %s", question)
	}
	fmt.Fprint(p.Out, terminal.Wrap(question+" Write yes to continue:", p.Width, 0)+" ")
	answer, err := p.line(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(p.Out) // the terminal shows ^C behind the question
		return fmt.Errorf("the command was interrupted. Nothing was changed. Run the command again to continue")
	}
	if err != nil && answer == "" {
		return fmt.Errorf("the answer could not be read: %w. Nothing was changed. Run the command again with --yes", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errNotAccepted
	}
	return nil
}

// line reads one line. A read of a terminal cannot be cancelled, so it is left behind if ctx ends: the program ends too.
func (p *Session) line(ctx context.Context) (string, error) {
	type result struct {
		text string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := bufio.NewReader(p.In).ReadString('\n')
		read <- result{text, err}
	}()
	select {
	case r := <-read:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
