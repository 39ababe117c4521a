package models

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Ptr returns a pointer to the value, for a field that may be absent.
func Ptr[T any](value T) *T { return &value }

// encode writes the fields of a struct that are present. The tag omitempty of encoding/json would
// leave out an empty list, too, which says something else than no list.
func encode(model any) ([]byte, error) {
	value := reflect.ValueOf(model)
	out := []byte{'{'}
	for i := 0; i < value.NumField(); i++ {
		field := value.Type().Field(i)
		if field.Tag.Get("wire") != "required" && isAbsent(value.Field(i)) {
			continue
		}
		encoded, err := json.Marshal(value.Field(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", value.Type().Name(), field.Name, err)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(out, field.Tag.Get("json")...)
		out = append(out, '"', ':')
		out = append(out, encoded...)
	}
	return append(out, '}'), nil
}

func isAbsent(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return value.IsNil()
	case reflect.String:
		return value.Len() == 0
	default:
		return false
	}
}
