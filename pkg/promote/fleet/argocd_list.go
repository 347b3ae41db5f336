package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxArgoAnswer bounds an answer in bytes, once unpacked. Only what is ours is kept, an Application at a time is in
// memory: it is some ten thousand Applications with a hundred objects each.
const maxArgoAnswer = 1 << 30

// argoAnswerError is an answer that must not be taken for all Applications.
type argoAnswerError struct{ what, hint string }

func (e *argoAnswerError) Error() string { return e.what }

// argoListMeta is v1ListMeta of the API's description.
type argoListMeta struct {
	Continue           string       `json:"continue"`
	RemainingItemCount *json.Number `json:"remainingItemCount"`
}

// readArgoApplications reads an ApplicationList of at most limit bytes to its end and hands on each Application. Applications
// that are cut off, or are not all, are an error: who is missing must not pass for who is not there.
func readArgoApplications(body io.Reader, limit int64, each func(*argoApplication) error) error {
	bounded := &io.LimitedReader{R: body, N: limit + 1}
	err := decodeArgoList(json.NewDecoder(bounded), each)
	if bounded.N <= 0 {
		return &argoAnswerError{
			fmt.Sprintf("more than %d MiB", limit>>20), "ask for some of the Applications only: argocd:https://argocd.example.com?project=fleet",
		}
	}
	return err
}

func decodeArgoList(d *json.Decoder, each func(*argoApplication) error) error {
	if err := argoDelimiter(d, '{'); err != nil {
		return err
	}
	listed := false
	for d.More() {
		name, err := argoNext(d)
		if err != nil {
			return err
		}
		switch name {
		case "items":
			listed = true
			err = decodeArgoItems(d, each)
		case "metadata":
			err = checkArgoMeta(d)
		default:
			err = d.Decode(&json.RawMessage{})
		}
		if err != nil {
			return err
		}
	}
	if err := argoDelimiter(d, '}'); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return notArgoList()
	}
	if !listed {
		return notArgoList()
	}
	return nil
}

// decodeArgoItems reads the list itself, which is null if it has nothing.
func decodeArgoItems(d *json.Decoder, each func(*argoApplication) error) error {
	start, err := argoNext(d)
	if err != nil || start == nil {
		return err
	}
	if start != json.Delim('[') {
		return notArgoList()
	}
	for d.More() {
		var app argoApplication
		if err := d.Decode(&app); err != nil {
			return err
		}
		if err := each(&app); err != nil {
			return err
		}
	}
	return argoDelimiter(d, ']')
}

func checkArgoMeta(d *json.Decoder) error {
	var meta argoListMeta
	if err := d.Decode(&meta); err != nil {
		return err
	}
	if meta.Continue != "" || meta.RemainingItemCount != nil && *meta.RemainingItemCount != "0" {
		return &argoAnswerError{"only some of its Applications, and that more remain", ""}
	}
	return nil
}

func argoDelimiter(d *json.Decoder, want json.Delim) error {
	got, err := argoNext(d)
	if err == nil && got != want {
		err = notArgoList()
	}
	return err
}

// argoNext is the next token, where there must be one.
func argoNext(d *json.Decoder) (json.Token, error) {
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return token, err
}

func notArgoList() error {
	return &argoAnswerError{"what is not a list of Applications", "check the URL: it is where Argo CD's pages are found, without what follows /applications"}
}
