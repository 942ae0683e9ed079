package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/resource"
)

// apart would begin another cell or another row, so that others could write a row of their own.
var apart = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")

// Table prints rows below their header, as kubectl does.
func Table(out io.Writer, header []string, rows [][]string) error {
	writer := tabwriter.NewWriter(Printable(out), 0, 0, 3, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = apart.Replace(cell)
		}
		fmt.Fprintln(writer, strings.Join(cells, "\t"))
	}
	return writer.Flush()
}

// OneLine returns a text without line breaks and control characters: messages of etcd and Kubernetes are part of it.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == ' ' }), " ")
}

// Or returns the text, or a dash if it is empty.
func Or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Bytes returns a size in the unit that fits.
func Bytes(n int64) string {
	if n <= 0 {
		return "-"
	}
	const mib = 1 << 20
	if n < mib {
		return resource.NewQuantity((n+1023)>>10<<10, resource.BinarySI).String()
	}
	return strconv.FormatFloat(float64(n)/mib, 'f', 1, 64) + "Mi"
}

// Number returns a number, or a dash if it is not known.
func Number(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
