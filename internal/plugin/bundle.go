package plugin

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"
)

// A File is one file of a report.
type File struct {
	Name    string
	Content []byte
}

// WriteBundle writes files as a gzipped tar.
func WriteBundle(out io.Writer, files []File, at time.Time) error {
	zipped := gzip.NewWriter(out)
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		header := &tar.Header{Name: f.Name, Mode: 0o600, Size: int64(len(f.Content)), ModTime: at, Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("pack %s: %w", f.Name, err)
		}
		if _, err := archive.Write(f.Content); err != nil {
			return fmt.Errorf("pack %s: %w", f.Name, err)
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// removed replaces what a report may not contain.
const removed = "(removed by kubectl etcd report)"

var (
	secretName = regexp.MustCompile(`(?i)(password|passwd|secret|token|credential|_key$|-key$|apikey)`)
	secretArg  = regexp.MustCompile(`(?i)(--[a-z0-9-]*(?:password|passwd|secret|token|credential)[a-z0-9-]*[= ])\S+`)
	secretFlag = regexp.MustCompile(`(?i)^--[a-z0-9-]*(?:password|passwd|secret|token|credential)[a-z0-9-]*$`)
	userInURL  = regexp.MustCompile(`://[^/@\s:]+:[^/@\s]+@`)
)

// Redact removes from an object what may be secret: the values of environment variables that are no options of etcd, annotations
// with a copy of the object, and passwords in arguments and URLs. Names of Secrets are kept.
func Redact(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return redactMap(v)
	case []any:
		after := false // an argument follows its flag
		for i := range v {
			text, _ := v[i].(string)
			if v[i] = Redact(v[i]); after && text != "" {
				v[i] = removed
			}
			after = secretFlag.MatchString(text)
		}
		return v
	case string:
		return RedactText(v)
	}
	return value
}

func redactMap(object map[string]any) map[string]any {
	delete(object, "managedFields")
	delete(object, "kubectl.kubernetes.io/last-applied-configuration")
	for key, value := range object {
		if list, ok := value.([]any); ok && (key == "env" || key == "etcdEnv") {
			for _, variable := range list {
				redactVariable(variable)
			}
		}
		object[key] = Redact(value)
	}
	return object
}

// redactVariable keeps the values of etcd's own options, unless their name sounds secret.
func redactVariable(variable any) {
	v, ok := variable.(map[string]any)
	if !ok || v["value"] == nil {
		return
	}
	name, _ := v["name"].(string)
	if len(name) < 5 || name[:5] != "ETCD_" || secretName.MatchString(name) {
		v["value"] = removed
	}
}

// RedactText removes passwords from arguments and URLs in a text, for example a log.
func RedactText(text string) string {
	return userInURL.ReplaceAllString(secretArg.ReplaceAllString(text, "${1}"+removed), "://"+removed+"@")
}
