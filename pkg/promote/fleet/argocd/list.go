package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxAnswer bounds an answer in bytes, once unpacked. Only what is ours is kept, an Application at a time is in
// memory: it is some ten thousand Applications with a hundred objects each.
const maxAnswer = 1 << 30

// answerError is an answer that must not be taken for all Applications.
type answerError struct{ what, hint string }

func (e *answerError) Error() string { return e.what }

// listMeta is v1ListMeta of the API's description.
type listMeta struct {
	Continue           string       `json:"continue"`
	RemainingItemCount *json.Number `json:"remainingItemCount"`
}

// readApplications reads an ApplicationList of at most limit bytes to its end and hands on each Application. Applications
// that are cut off, or are not all, are an error: who is missing must not pass for who is not there.
func readApplications(body io.Reader, limit int64, each func(*application) error) error {
	bounded := &io.LimitedReader{R: body, N: limit + 1}
	err := decodeList(json.NewDecoder(bounded), each)
	if bounded.N <= 0 {
		return &answerError{
			fmt.Sprintf("more than %d MiB", limit>>20), "ask for some of the Applications only: argocd:https://argocd.example.com?project=fleet",
		}
	}
	return err
}

func decodeList(d *json.Decoder, each func(*application) error) error {
	if err := delimiter(d, '{'); err != nil {
		return err
	}
	listed := false
	for d.More() {
		name, err := next(d)
		if err != nil {
			return err
		}
		switch name {
		case "items":
			listed = true
			err = decodeItems(d, each)
		case "metadata":
			err = checkMeta(d)
		default:
			err = d.Decode(&json.RawMessage{})
		}
		if err != nil {
			return err
		}
	}
	if err := delimiter(d, '}'); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return notList()
	}
	if !listed {
		return notList()
	}
	return nil
}

// decodeItems reads the list itself, which is null if it has nothing.
func decodeItems(d *json.Decoder, each func(*application) error) error {
	start, err := next(d)
	if err != nil || start == nil {
		return err
	}
	if start != json.Delim('[') {
		return notList()
	}
	for d.More() {
		var app application
		if err := d.Decode(&app); err != nil {
			return err
		}
		if err := each(&app); err != nil {
			return err
		}
	}
	return delimiter(d, ']')
}

func checkMeta(d *json.Decoder) error {
	var meta listMeta
	if err := d.Decode(&meta); err != nil {
		return err
	}
	if meta.Continue != "" || meta.RemainingItemCount != nil && *meta.RemainingItemCount != "0" {
		return &answerError{"only some of its Applications, and that more remain", ""}
	}
	return nil
}

func delimiter(d *json.Decoder, want json.Delim) error {
	got, err := next(d)
	if err == nil && got != want {
		err = notList()
	}
	return err
}

// next is the next token, where there must be one.
func next(d *json.Decoder) (json.Token, error) {
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return token, err
}

func notList() error {
	return &answerError{"what is not a list of Applications", "check the URL: it is where Argo CD's pages are found, without what follows /applications"}
}
