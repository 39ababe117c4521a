package client

import (
	"context"
	"encoding/json"

	"agent.internal/client-go/models"
)

// Map is GET /map/{name}, all of it in memory.
func (c *Client) Map(ctx context.Context, name string) (*models.MapContents, error) {
	entries := []models.MapEntry{}
	contents, err := c.EachMapEntry(ctx, name, func(entry *models.MapEntry) error {
		entries = append(entries, *entry)
		return nil
	})
	if err != nil {
		return nil, err
	}
	contents.Cache = entries
	return contents, nil
}

// EachMapEntry is GET /map/{name}. It passes the entries on one by one, and returns the record of
// the map without them.
func (c *Client) EachMapEntry(
	ctx context.Context, name string, onEntry func(*models.MapEntry) error,
) (*models.MapContents, error) {
	r := get("map", name)
	response, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(response.Body)
	if err := delimiter(decoder, '{'); err != nil {
		return nil, unreadable(r, err)
	}
	record := map[string]json.RawMessage{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, unreadable(r, err)
		}
		if key == "cache" {
			if err := elements(r, decoder, onEntry); err != nil {
				return nil, err
			}
			continue
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, unreadable(r, err)
		}
		record[key.(string)] = value
	}
	if err := delimiter(decoder, '}'); err != nil {
		return nil, unreadable(r, err)
	}
	if err := atEnd(r, decoder); err != nil {
		return nil, err
	}
	return contents(r, record)
}

func contents(r call, record map[string]json.RawMessage) (*models.MapContents, error) {
	encoded, err := json.Marshal(record)
	if err != nil {
		return nil, unreadable(r, err)
	}
	var contents models.MapContents
	if err := json.Unmarshal(encoded, &contents); err != nil {
		return nil, unreadable(r, err)
	}
	return &contents, nil
}
