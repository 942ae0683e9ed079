package pki

// The names below keep callers compiling that still use the former name of CA.
type Authority = CA

var (
	NewAuthority   = NewCA
	ParseAuthority = ParseCA
)
