// Package waits has the steps that rules of several concepts return, most of them waits: for a Pod that ends, for a foreign member, for a pause
// after a failure.
package waits
