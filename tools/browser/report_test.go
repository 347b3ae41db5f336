// Package browser opens what kalypso report makes in a headless Chromium. It is a module of its own, so that the program
// and its tests need no browser. hack/browser.sh runs it.
package browser

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// page is an open report.
type page struct {
	*testing.T
	ctx context.Context
	mu  sync.Mutex
	// said is what the browser has complained about.
	said []string
}

// open opens the report whose path is in an environment variable.
func open(t *testing.T, variable string) *page {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s does not name a report: run hack/browser.sh", variable)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1500, 900))
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(allocated)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(stop)
	p := &page{T: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			p.said = append(p.said, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
		case *runtime.EventConsoleAPICalled:
			p.said = append(p.said, string(e.Type))
		case *log.EventEntryAdded:
			p.said = append(p.said, e.Entry.Text)
		}
	})
	p.do(log.Enable(), chromedp.Navigate("file://"+path), chromedp.WaitVisible(".target", chromedp.ByQuery))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.said) > 0 {
			t.Errorf("the browser complains: %s", strings.Join(p.said, "; "))
		}
	})
	return p
}

func (p *page) do(actions ...chromedp.Action) {
	p.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.Fatal(err)
	}
}

// evaluate returns what an expression is in the page.
func (p *page) evaluate(expression string) string {
	p.Helper()
	var text string
	p.do(chromedp.Evaluate("String("+expression+")", &text))
	return text
}

// eventually waits until an expression is something.
func (p *page) eventually(expression, want string) {
	p.Helper()
	got := ""
	for range 100 {
		if got = p.evaluate(expression); got == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.Errorf("%s is %q, not %q", expression, got, want)
}

// shoot keeps a picture of the page, if somebody wants to see it.
func (p *page) shoot(name string) {
	p.Helper()
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return
	}
	var picture []byte
	p.do(chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(folder+"/"+name+".png", picture, 0o644); err != nil {
		p.Error(err)
	}
}

const (
	targets = `[...document.querySelectorAll(".target")].map(t => t.textContent).join()`
	title   = `document.querySelector("#detail").hidden ? "" : document.querySelector("#detail h2").textContent`
)

func TestSearchAndDrillDown(t *testing.T) {
	p := open(t, "REPORT")
	p.eventually(`document.querySelector("#tabs [aria-selected=true]").textContent`, "dev")
	p.shoot("fleet")
	p.do(chromedp.SendKeys("#find-target", "beacon", chromedp.ByQuery))
	p.eventually(targets, "observability-beacon")
	p.do(chromedp.Click(".cell.on", chromedp.ByQuery))
	p.eventually(title, "observability-beacon on cloud-south")
	for _, want := range []string{"policy ", "LOG_LEVEL", "scheduling/platform-services.yaml:", "reconciler.yaml"} {
		if text := p.evaluate(`document.querySelector("#detail").textContent`); !strings.Contains(text, want) {
			t.Errorf("the detail has no %q:\n%s", want, text)
		}
	}
	p.shoot("detail")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.eventually(title, "")
	p.evaluate(`document.querySelector("#find-target").value = ""`)
	p.do(chromedp.SendKeys("#find-target", "purpose=integration", chromedp.ByQuery))
	p.eventually(targets, "point-of-sale-integration,replenishment-integration,self-checkout-integration,shelf-labels-integration")
}

func TestKeyboard(t *testing.T) {
	p := open(t, "REPORT")
	p.evaluate(`document.dispatchEvent(new KeyboardEvent("keydown", { key: "/" }))`) // else the driver types it, too
	p.eventually(`document.activeElement.id`, "find-target")
	p.evaluate(`document.querySelector("#grid").focus()`)
	p.eventually(`document.activeElement.id`, "grid")
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	p.eventually(`document.querySelector("#grid").getAttribute("aria-description")`, "observability-beacon on cold-room-vm: scheduled")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.eventually(title, "observability-beacon on cold-room-vm")
}

func TestGroupAndCompare(t *testing.T) {
	p := open(t, "REPORT")
	choose := func(id, option string) {
		p.evaluate(`(() => { const s = document.getElementById("` + id + `"); s.value = [...s.options].find(o => o.textContent === "` + option + `").value; s.dispatchEvent(new Event("change")); })()`)
	}
	choose("group", "region")
	p.eventually(`[...document.querySelectorAll(".type")].map(t => t.textContent).join()`, "no region (4 cluster types),region=south (3 cluster types)")
	choose("group", "none")
	choose("compare", "stage")
	p.eventually(`document.querySelectorAll(".cell.removed").length > 0 && document.querySelectorAll(".cell.added").length > 0`, "true")
	p.evaluate(`[...document.querySelectorAll(".cell")].find(c => c.title === "self-checkout-integration on store-large: compared with self-checkout-acceptance").click()`)
	p.eventually(`[...document.querySelectorAll("#detail h3")].slice(0, 3).map(h => h.textContent).join()`, "Scheduled in dev by,Scheduled in stage as self-checkout-acceptance by,Configuration")
	p.eventually(`[...document.querySelectorAll("#detail td")].some(c => c.textContent === "LOG_LEVEL ≠")`, "true")
	p.shoot("compare")
	p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	p.eventually(`getComputedStyle(document.body).backgroundColor`, "rgb(13, 17, 23)")
	p.shoot("dark")
	p.do(emulation.SetEmulatedMedia().WithMedia("print"))
	p.evaluate(`dispatchEvent(new Event("beforeprint"))`)
	p.eventually(`getComputedStyle(document.querySelector("#grid")).display + " " + document.querySelector("#print").innerText.includes("storefront-load-test")`, "none true")
}

// TestHostileValues: what strangers write does not run, wherever it is shown.
func TestHostileValues(t *testing.T) {
	p := open(t, "REPORT")
	p.do(chromedp.SendKeys("#find-target", "hostile", chromedp.ByQuery), chromedp.WaitVisible(".cell.on", chromedp.ByQuery), chromedp.Click(".cell.on", chromedp.ByQuery))
	p.eventually(`document.querySelector("#detail").textContent.includes("onerror")`, "true")
	p.evaluate(`document.querySelectorAll("details").forEach(d => { d.open = true })`)
	p.eventually(`document.title.startsWith("Fleet ")`, "true")
	p.eventually(`document.querySelectorAll("img").length`, "0")
}

// TestLargeFleet: it opens in two seconds, and scrolling shows the end.
func TestLargeFleet(t *testing.T) {
	started := time.Now()
	p := open(t, "LARGE_REPORT")
	took := time.Since(started)
	blank := time.Now()
	p.do(chromedp.Navigate("about:blank"))
	t.Logf("opened in %v with the start of the browser (an empty page takes %v)", took, time.Since(blank))
	var milliseconds float64
	p.do(chromedp.Navigate("file://"+os.Getenv("LARGE_REPORT")), chromedp.WaitVisible(".target", chromedp.ByQuery),
		chromedp.Evaluate(`performance.now()`, &milliseconds))
	t.Logf("usable after %.0f ms", milliseconds)
	if milliseconds > 2000 {
		t.Errorf("the report of a large fleet takes %.0f ms to open", milliseconds)
	}
	p.evaluate(`(() => { const g = document.querySelector("#grid"); g.scrollTop = g.scrollHeight; g.scrollLeft = g.scrollWidth; })()`)
	p.eventually(`document.querySelectorAll(".cell").length > 100 && document.querySelectorAll(".cell").length < 5000`, "true")
	p.do(chromedp.Focus("#grid", chromedp.ByQuery), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.Enter))
	p.eventually(`document.querySelector("#detail").hidden`, "false")
	p.shoot("large")
}
