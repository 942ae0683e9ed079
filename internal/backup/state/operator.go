package state

// Operator is the name of this operator, in logs, leader election and events.
const Operator = "backup-operator"
