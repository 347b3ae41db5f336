package githubtest

import (
	"maps"
	"net"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"
)

// Fault is something that goes wrong with a request, which is recorded nevertheless.
type Fault struct {
	kind   faultKind
	late   bool
	answer answer
}

type faultKind int

const (
	faultNone faultKind = iota
	faultAnswer
	faultReset
	faultCut
	faultHang
)

// HTTPError answers with a status, and a body that is a page of a proxy.
func HTTPError(code int) Fault {
	return Fault{kind: faultAnswer, answer: answer{status: code, body: "<html>" + http.StatusText(code) + "</html>"}}
}

// Refusal answers with a status and a message, as GitHub does when it will not do something.
func Refusal(code int, message string) Fault {
	return Fault{kind: faultAnswer, answer: refuse(code, message).answer()}
}

// Reset resets the connection before the request is looked at. For a request that may be repeated Go's client
// does so, once, on its own.
func Reset() Fault { return Fault{kind: faultReset} }

// LostAnswer does what is asked for, then resets the connection.
func LostAnswer() Fault { return Reset().Late() }

// CutAnswer does what is asked for, then sends the first half of the answer.
func CutAnswer() Fault { return Fault{kind: faultCut, late: true} }

// Hang does nothing until the client gives up, or the server ends.
func Hang() Fault { return Fault{kind: faultHang} }

// SecondaryRateLimit refuses as GitHub does when too much came too fast. The status is 403 or 429. Without a
// time after which to try again there is no Retry-After.
func SecondaryRateLimit(status int, retryAfter time.Duration) Fault {
	no := refuse(status, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "+
		"If you reach out to GitHub Support for help, please include the request ID 0000:0000:0000000:0000000:00000000.")
	no.doc = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	f := Fault{kind: faultAnswer, answer: no.answer()}
	if retryAfter > 0 {
		f = f.With("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	return f
}

// PrimaryRateLimit refuses as GitHub does when all requests of the hour are used up, until reset.
func PrimaryRateLimit(status int, reset time.Time) Fault {
	no := refuse(status, "API rate limit exceeded for installation ID 1.")
	no.doc = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"
	return Fault{kind: faultAnswer, answer: no.answer()}.
		With("X-RateLimit-Remaining", "0").
		With("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
}

// Late does what is asked for before things go wrong: the client cannot know.
func (f Fault) Late() Fault {
	f.late = true
	return f
}

// With adds a header to the answer.
func (f Fault) With(header, value string) Fault {
	headers := http.Header{}
	maps.Copy(headers, f.answer.header)
	headers.Set(header, value)
	f.answer.header = headers
	return f
}

// When says which requests a fault is for. It is asked once for each, in their order, and may not ask the
// server anything.
type When func(Request) bool

// Always is every request.
func Always(Request) bool { return true }

// Nth is the request of that number, from 1.
func Nth(n int) When { return func(r Request) bool { return r.Number == n } }

// NthWrite is the writing request of that number, from 1.
func NthWrite(n int) When { return func(r Request) bool { return r.Write == n } }

// On is all requests with a method, or any if it is empty, to paths that match a pattern as in package path.
func On(method, pattern string) When {
	return func(r Request) bool {
		matched, err := path.Match(pattern, r.Path)
		return err == nil && matched && (method == "" || method == r.Method)
	}
}

// First is the first n requests of those that when names.
func First(n int, when When) When {
	return func(r Request) bool {
		if n == 0 || !when(r) {
			return false
		}
		n--
		return true
	}
}

// injected is a fault and which requests it is for.
type injected struct {
	fault Fault
	when  When
}

// faults are what goes wrong, and when.
type faults struct {
	injecting sync.Mutex
	injected  []injected
}

// Inject makes a fault happen. Of several for one request the first injected one does.
func (f *faults) Inject(fault Fault, when When) {
	f.injecting.Lock()
	defer f.injecting.Unlock()
	f.injected = append(f.injected, injected{fault, when})
}

// Heal takes all faults away.
func (f *faults) Heal() {
	f.injecting.Lock()
	defer f.injecting.Unlock()
	f.injected = nil
}

func (f *faults) faultFor(r Request) Fault {
	f.injecting.Lock()
	defer f.injecting.Unlock()
	for _, injected := range f.injected {
		if injected.when(r) {
			return injected.fault
		}
	}
	return Fault{}
}

// perform answers a request, or lets the fault happen, which hangs until the server is closed.
func (f Fault) perform(w http.ResponseWriter, r *http.Request, closed <-chan struct{}, handle func() answer) {
	var a answer
	if f.late || f.kind == faultNone {
		a = handle()
	}
	switch f.kind {
	case faultReset:
		reset(w)
		return
	case faultHang:
		select {
		case <-r.Context().Done():
		case <-closed:
		}
		return
	case faultAnswer:
		a = f.answer
	}
	body := a.bytes()
	if f.kind == faultCut {
		a.write(w, body, len(body)/2)
		_ = http.NewResponseController(w).Flush() // else nothing of it arrives
		panic(http.ErrAbortHandler)               // the way to break off that package http offers
	}
	a.write(w, body, len(body))
}

// reset ends the connection so that the client sees a reset rather than an end.
func reset(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it ends in the usual way, which is as good for most tests
	}
	_ = connection.Close()
}
