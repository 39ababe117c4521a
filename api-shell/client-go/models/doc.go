// Package models holds the bodies of the management API, named as openapi.yaml names them without
// the ending "Model".
//
// A field that may be absent is a pointer, a slice, a map or a string; nil and the empty string are
// absent. An empty slice is not: no list of peers allows all of them, an empty one none.
package models
