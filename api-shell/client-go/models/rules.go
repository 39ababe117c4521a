package models

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// PortText is a port as rules write it: "80", 80 or the name of a port of the workload.
type PortText string

// UnmarshalJSON accepts a string or an integer.
func (p *PortText) UnmarshalJSON(data []byte) error {
	text, err := numberOrText("port", data)
	*p = PortText(text)
	return err
}

// ICMPType is an ICMP type as rules write it: 8, "8" or a name such as "EchoRequest".
type ICMPType string

// UnmarshalJSON accepts a string or an integer.
func (t *ICMPType) UnmarshalJSON(data []byte) error {
	text, err := numberOrText("type", data)
	*t = ICMPType(text)
	return err
}

// MarshalJSON writes a number as an integer.
func (t ICMPType) MarshalJSON() ([]byte, error) {
	if number, err := strconv.ParseUint(string(t), 10, 31); err == nil {
		return json.Marshal(number)
	}
	return json.Marshal(string(t))
}

func numberOrText(field string, data []byte) (string, error) {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		return text, nil
	}
	var number int64
	if err := json.Unmarshal(data, &number); err != nil {
		return "", fmt.Errorf("%s: %s is neither a string nor an integer", field, data)
	}
	return fmt.Sprint(number), nil
}

// Rules returns the rules, which the API sends as JSON text.
func (m *Policy) Rules() ([]Rule, error) {
	var rules []Rule
	if err := json.Unmarshal([]byte(m.Policy), &rules); err != nil {
		return nil, fmt.Errorf("rules of revision %d: %w", m.Revision, err)
	}
	return rules, nil
}
