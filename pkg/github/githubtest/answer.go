package githubtest

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"time"
)

// object is a JSON object.
type object = map[string]any

// answer is what a request is answered with.
type answer struct {
	status int
	header http.Header
	body   any // nil for none; a string is a page, all else goes out as JSON
}

func ok(body any) answer      { return answer{status: http.StatusOK, body: body} }
func created(body any) answer { return answer{status: http.StatusCreated, body: body} }

// refusal is an answer that says no.
type refusal struct {
	status  int
	message string
	errors  []any // of fieldError, or text
	doc     string
}

// fieldError says what is wrong with one field.
type fieldError struct {
	Resource string `json:"resource"`
	Code     string `json:"code"`
	Field    string `json:"field,omitempty"`
	Message  string `json:"message,omitempty"`
}

func (r *refusal) Error() string                 { return strconv.Itoa(r.status) + " " + r.message }
func refuse(status int, message string) *refusal { return &refusal{status: status, message: message} }
func notFound() *refusal                         { return refuse(http.StatusNotFound, "Not Found") }

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
	return answer{status: r.status, body: body}
}

// check ends the work at an error of the stand-in, which catch returns.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

// catch does some work, which ends early by panicking with an error, and returns that.
func catch(work func()) (err error) {
	defer func() {
		problem := recover()
		if _, bug := problem.(runtime.Error); bug {
			panic(problem)
		}
		var ok bool
		if err, ok = problem.(error); !ok && problem != nil {
			panic(problem)
		}
	}()
	work()
	return nil
}

// bytes is the body as it goes out.
func (a answer) bytes() []byte {
	switch body := a.body.(type) {
	case nil:
		return nil
	case string:
		return []byte(body)
	}
	return must(json.Marshal(a.body))
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

// orNull is a time as JSON has it, or null if it is zero.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Format(time.RFC3339)
}
