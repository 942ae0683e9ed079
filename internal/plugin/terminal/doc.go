// Package terminal lays out text on a terminal: tables, colours, wrapped lines, ages, and no control character of others.
package terminal
