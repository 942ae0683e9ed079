package status

// Refusal says that the API server refuses an object for good. A person must correct what refuses it.
type Refusal string

// Error is the message of the API server.
func (r Refusal) Error() string { return string(r) }
