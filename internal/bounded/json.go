// Package bounded decodes JSON that another party may have written. What it returns takes little memory, and so do its errors.
package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// MaxText is how many bytes a text of an object may have. The longest one that an operator writes is the key of another object.
	MaxText = 1 << 10
	// maxMessage is how many bytes of a Message are kept. Operators write at most 1500, and an ellipsis.
	maxMessage = 1600
	// maxWord is more than a version or an ID has.
	maxWord = 64
	// maxObject limits an object in bytes.
	maxObject = 64 << 10
	// maxError bounds the text of an error, which quotes what was decoded.
	maxError = 300
)

// JSON decodes one value into v, a pointer to a struct. The error names a field whose text is longer than MaxText, or whose time is not one of JSON in UTC.
func JSON(content []byte, v any) error {
	if err := json.Unmarshal(content, v); err != nil {
		return errors.New(planning.Quote(err.Error(), maxError))
	}
	if field := Long(v); field != "" {
		return fmt.Errorf("field %s is longer than %d bytes", field, MaxText)
	}
	if field := outside(reflect.Indirect(reflect.ValueOf(v)), ""); field != "" {
		return fmt.Errorf("field %s is outside of the years 1 to 9999", field)
	}
	return nil
}

// Time reports whether a time can be written as JSON in UTC, for example into a status. One of another time zone may be an hour outside of that.
func Time(t time.Time) bool {
	year := t.UTC().Year()
	return 1 <= year && year <= 9999
}

// outside returns the name of a field with a time that is not one of JSON in UTC; empty if there is none.
func outside(v reflect.Value, name string) string {
	if t, is := v.Interface().(time.Time); is {
		if Time(t) {
			return ""
		}
		return name
	}
	if v.Kind() != reflect.Struct {
		return ""
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if found := outside(v.Field(i), strings.Trim(name+"."+tag, ".")); found != "" {
			return found
		}
	}
	return ""
}

// Read reads the object and decodes it with JSON.
func Read(body io.Reader, v any) error {
	content, err := io.ReadAll(io.LimitReader(body, maxObject+1))
	if err != nil {
		return err
	}
	if len(content) > maxObject {
		return fmt.Errorf("it is longer than %d bytes", maxObject)
	}
	return JSON(content, v)
}

// Message is a text for a person, of which only the beginning is kept. It may be longer than MaxText, and decides nothing.
type Message string

// UnmarshalText keeps the beginning, as one line without control characters.
func (m *Message) UnmarshalText(text []byte) error {
	*m = Message(planning.Quote(string(text), maxMessage))
	return nil
}

// Word returns a version or an ID as a status shows it.
func Word(text string) string { return planning.Quote(text, maxWord) }

// Long returns the name of a field whose text is longer than MaxText; empty if there is none.
func Long(v any) string {
	field := ""
	walk(reflect.Indirect(reflect.ValueOf(v)), "", func(name string, n int) {
		if n > MaxText {
			field = name
		}
	})
	return field
}

// Size returns how many bytes all texts of v have.
func Size(v any) int {
	size := 0
	walk(reflect.Indirect(reflect.ValueOf(v)), "", func(_ string, n int) { size += n })
	return size
}

// walk calls f for each text in the fields of a struct, and in those of its structs.
func walk(v reflect.Value, name string, f func(name string, n int)) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[Message]() {
			f(name, v.Len())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			walk(v.Field(i), strings.Trim(name+"."+tag, "."), f)
		}
	}
}
