package client

import (
	"context"
	"encoding/json"
	"fmt"
)

// each reads an answer that is a list, and passes its elements on one by one. The error of the
// function ends the call and is returned as it is.
func each[T any](ctx context.Context, c *Client, r call, onElement func(*T) error) error {
	response, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(response.Body)
	if err := elements(r, decoder, onElement); err != nil {
		return err
	}
	return atEnd(r, decoder)
}

// elements reads a list from where the decoder is.
func elements[T any](r call, decoder *json.Decoder, onElement func(*T) error) error {
	if err := delimiter(decoder, '['); err != nil {
		return unreadable(r, err)
	}
	for decoder.More() {
		element := new(T)
		if err := decoder.Decode(element); err != nil {
			return unreadable(r, err)
		}
		if err := onElement(element); err != nil {
			return err
		}
	}
	if err := delimiter(decoder, ']'); err != nil {
		return unreadable(r, err)
	}
	return nil
}

func delimiter(decoder *json.Decoder, wanted json.Delim) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	if token != wanted {
		return fmt.Errorf("%v where %v is expected", token, wanted)
	}
	return nil
}

// list reads an answer that is a list into memory; it is never nil.
func list[T any](ctx context.Context, c *Client, r call) ([]T, error) {
	all := []T{}
	err := each(ctx, c, r, func(element *T) error {
		all = append(all, *element)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
