// Package readme reads the commands of the documentation, so that a test can run them as a reader would. Above each block of
// commands is a comment: <!-- test: name --> names a block that the test runs, and <!-- no test: why --> another one.
package readme

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A Block is a block of commands.
type Block struct {
	Name  string // empty if no test runs the block
	Why   string // why no test runs it
	Lines []string
}

var marker = regexp.MustCompile(`^<!-- (?:test: (\S+)|no test: (.+)) -->$`)

// Blocks returns the blocks of commands of a Markdown file. A block without a comment above it is an error.
func Blocks(file string) ([]Block, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the commands: %w", err)
	}
	blocks, err := parse(string(raw))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return blocks, nil
}

// Find returns the block with a name.
func Find(blocks []Block, name string) (Block, error) {
	for _, b := range blocks {
		if b.Name == name {
			return b, nil
		}
	}
	return Block{}, fmt.Errorf("no block of commands has the comment <!-- test: %s -->", name)
}

// parse reads blocks that are indented by four spaces or fenced with ```sh. Other fenced blocks are no commands.
func parse(text string) ([]Block, error) {
	var blocks []Block
	var next, current *Block
	fenced, skipped := false, false
	for number, line := range strings.Split(text, "\n") {
		command, indented := strings.CutPrefix(line, "    ")
		switch {
		case skipped || fenced && line == "```":
			fenced, skipped, current = false, skipped && line != "```", nil
		case fenced:
			current.Lines = append(current.Lines, line)
		case strings.HasPrefix(line, "```") && line != "```sh":
			skipped = true
		case line == "" || current != nil && indented:
			if line != "" {
				current.Lines = append(current.Lines, command)
			}
		case marker.MatchString(line):
			match := marker.FindStringSubmatch(line)
			next = &Block{Name: match[1], Why: match[2]}
		case indented || line == "```sh":
			if next == nil {
				return nil, fmt.Errorf("line %d: the commands have no comment: write <!-- test: name --> or <!-- no test: why --> above them", number+1)
			}
			blocks = append(blocks, *next)
			current, next, fenced = &blocks[len(blocks)-1], nil, !indented
			if indented {
				current.Lines = append(current.Lines, command)
			}
		default:
			next, current = nil, nil
		}
	}
	return blocks, nil
}
