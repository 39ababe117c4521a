package models

import (
	"encoding/json"
	"fmt"
)

// PortText is a port as rules write it: "80", 80 or the name of a port of the workload.
type PortText string

// UnmarshalJSON takes a string or an integer.
func (p *PortText) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*p = PortText(text)
		return nil
	}
	var number int64
	if err := json.Unmarshal(data, &number); err != nil {
		return fmt.Errorf("port: %s is neither a string nor an integer", data)
	}
	*p = PortText(fmt.Sprint(number))
	return nil
}

// Rules returns the rules, which the API sends as JSON text.
func (m *Policy) Rules() ([]Rule, error) {
	var rules []Rule
	if err := json.Unmarshal([]byte(m.Policy), &rules); err != nil {
		return nil, fmt.Errorf("rules of revision %d: %w", m.Revision, err)
	}
	return rules, nil
}
