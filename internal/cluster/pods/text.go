package pods

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// sorted copies a list whose order means nothing.
func sorted[T any](list []T) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(Text(a), Text(b)) })
}

// Text of a value: JSON has its maps sorted and its quantities in one notation.
func Text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%+v", value) // never: all of it came as JSON
	}
	return string(encoded)
}
