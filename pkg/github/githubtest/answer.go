package githubtest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// object is a JSON object.
type object = map[string]any

// answer is what a request is answered with.
type answer struct {
	status int
	header http.Header
	body   any // nil for none; a string is a page, all else goes out as JSON
}

func ok(body any) (answer, error)      { return answer{status: http.StatusOK, body: body}, nil }
func created(body any) (answer, error) { return answer{status: http.StatusCreated, body: body}, nil }
func empty() (answer, error)           { return answer{status: http.StatusNoContent}, nil }

// refusal is an answer that says no.
type refusal struct {
	status  int
	message string
	errors  []any // of fieldError, or text
	doc     string
	header  http.Header
}

// fieldError says what is wrong with one field.
type fieldError struct {
	Resource string `json:"resource"`
	Code     string `json:"code"`
	Field    string `json:"field,omitempty"`
	Message  string `json:"message,omitempty"`
	Value    any    `json:"value,omitempty"`
}

func (r *refusal) Error() string { return strconv.Itoa(r.status) + " " + r.message }

func refuse(status int, message string) *refusal { return &refusal{status: status, message: message} }

func notFound() *refusal { return refuse(http.StatusNotFound, "Not Found") }

func invalid(problems ...fieldError) *refusal {
	r := refuse(http.StatusUnprocessableEntity, "Validation Failed")
	for _, problem := range problems {
		r.errors = append(r.errors, problem)
	}
	return r
}

// answer is how GitHub writes a refusal: the status is in the body too.
func (r *refusal) answer() answer {
	doc := r.doc
	if doc == "" {
		doc = "https://docs.github.com/rest"
	}
	body := object{"message": r.message, "documentation_url": doc, "status": strconv.Itoa(r.status)}
	if len(r.errors) > 0 {
		body["errors"] = r.errors
	}
	return answer{status: r.status, header: r.header, body: body}
}

// settle makes an answer of what a handler returned. Whatever is not a refusal is a bug of the stand-in.
func settle(a answer, err error) (answer, error) {
	var no *refusal
	switch {
	case err == nil:
		return a, nil
	case errors.As(err, &no):
		return no.answer(), nil
	}
	return refuse(http.StatusInternalServerError, "Server Error").answer(), err
}

// bytes is the body as it goes out.
func (a answer) bytes() ([]byte, error) {
	switch body := a.body.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(body), nil
	}
	return json.Marshal(a.body)
}

// write sends the header, then the body or a part of it.
func (a answer) write(w http.ResponseWriter, body []byte, length int) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("X-GitHub-Request-Id", "0000:0000:0000000:0000000:00000000")
	switch a.body.(type) {
	case nil:
	case string:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	default:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(body[:length]) // who hung up has no use for it
}

// remarshal reads the body as a client does.
func remarshal(a answer, into any) error {
	body, err := a.bytes()
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}
