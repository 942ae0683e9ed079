// Package plugintest has the objects of a healthy cluster and the faults that tests put into it.
package plugintest
