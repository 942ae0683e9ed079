package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// part is a kind of text that `prose` checks.
type part struct {
	name string
	read func(root string) ([]text, error)
}

var parts = []part{
	{"docs", func(root string) ([]text, error) {
		return all(root, markdown, "docs/*.md", "docs/adr/*.md", "*.md")
	}},
	{"chart", func(root string) ([]text, error) {
		readme, err := all(root, markdown, "charts/*/README.md")
		if err != nil {
			return nil, err
		}
		values, err := all(root, yamlComments, "charts/*/values.yaml")
		return append(readme, values...), err
	}},
	{"api", func(root string) ([]text, error) { return all(root, goComments, "api/*/*.go") }},
	{"messages", func(root string) ([]text, error) {
		var found []text
		for _, folder := range []string{"internal", "cmd"} {
			err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				texts, err := read(root, path, goMessages)
				found = append(found, texts...)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		return found, nil
	}},
}

// extract returns the prose in the content of a file.
type extract func(file string, content []byte) ([]text, error)

func all(root string, e extract, patterns ...string) ([]text, error) {
	var found []text
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			texts, err := read(root, path, e)
			if err != nil {
				return nil, err
			}
			found = append(found, texts...)
		}
	}
	return found, nil
}

func read(root, path string, e extract) ([]text, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	return e(file, content)
}

// markdown is all prose. docs/api.md is not read: it comes from the comments in api/, which are.
func markdown(file string, content []byte) ([]text, error) {
	if file == "docs/api.md" {
		return nil, nil
	}
	return []text{{file: file, line: 1, words: string(content), markdown: true}}, nil
}

var yamlComment = regexp.MustCompile(`^(.*?)(?:^|\s)#\s?(.*)$`)

// yamlComments joins the lines of a comment; a comment behind a value stands alone.
func yamlComments(file string, content []byte) ([]text, error) {
	var found []text
	open := false // the line before was a comment of its own
	for i, line := range strings.Split(string(content), "\n") {
		match := yamlComment.FindStringSubmatch(line)
		if match == nil {
			open = false
			continue
		}
		alone := strings.TrimSpace(match[1]) == ""
		if alone && open {
			found[len(found)-1].words += " " + match[2]
		} else {
			found = append(found, text{file: file, line: i + 1, words: match[2]})
		}
		open = alone
	}
	return found, nil
}

var placeholder = regexp.MustCompile(`<[^<> ]+>|%[-+#0-9.\[\]]*[a-zA-Z]`)

// copied is a Markdown file for Vale, and the line of the source for each of its lines.
type copied struct {
	source string
	lines  []int
}

// write makes one Markdown file of the texts of each source, and returns them by their paths.
func write(dir string, texts []text) (map[string]copied, error) {
	contents, copies := map[string]string{}, map[string]copied{}
	for _, t := range texts {
		path := filepath.Join(dir, t.file+".md")
		words := t.words
		if !t.markdown {
			words = placeholder.ReplaceAllString(strings.Join(strings.Fields(words), " "), "`X`") + "\n"
		}
		c := copied{source: t.file, lines: copies[path].lines}
		for i := range strings.Count(words, "\n") + 1 {
			at := t.line
			if t.markdown {
				at += i
			}
			c.lines = append(c.lines, at)
		}
		contents[path] += words + "\n"
		copies[path] = c
	}
	for path, content := range contents {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	return copies, nil
}
