// Package versions decides how members are brought to the version and the template of the spec, one at a time, and gives advice on versions.
package versions
