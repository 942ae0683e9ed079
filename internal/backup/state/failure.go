package state

// Failure is one of the API's reasons, and a message that says what is wrong and what to do.
type Failure struct{ Reason, Message string }
