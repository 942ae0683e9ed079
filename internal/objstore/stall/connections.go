package stall

import "net/http"

// MaxHeaders limits the headers of an answer of a store, in bytes. Those of the known stores have some KiB, with the metadata of an object. Go
// allows 10 MiB, which take 16 times as much when they are decoded.
const MaxHeaders = 64 << 10

// Connections returns a transport like that of Go, in which the headers of answers have a bound.
func Connections() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // nothing replaces it
	transport.MaxResponseHeaderBytes = MaxHeaders
	return transport
}
