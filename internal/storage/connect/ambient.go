package connect

import "slices"

// Ambient reports whether a store is opened with the ambient identity: the Secret has no credential, or data is nil.
func Ambient(data map[string][]byte) bool {
	return data == nil || secretData(data).ambient(slices.Concat(s3Ambient, gcsAmbient, absAmbient)...)
}
