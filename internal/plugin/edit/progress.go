package edit

import (
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// bar draws a share in percent.
func bar(percent int32) string {
	const width = 20
	done := int(min(max(percent, 0), 100)) * width / 100
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("#", done), strings.Repeat(".", width-done), percent)
}

func speed(bytesPerSecond int64) string {
	if bytesPerSecond <= 0 {
		return ""
	}
	return terminal.Bytes(bytesPerSecond) + "/s"
}

// Transferred is how much of a file was read. The size is 0 if it is not known.
func Transferred(read, size int64) string {
	if size <= 0 {
		return terminal.Bytes(read)
	}
	return fmt.Sprintf("%s %s", bar(int32(min(100, 100*read/size))), terminal.Bytes(read))
}
