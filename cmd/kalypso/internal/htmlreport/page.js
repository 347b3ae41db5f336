"use strict";
// The script of the report. Values of the model are set as text, never as HTML.
(() => {
  const fleet = JSON.parse(document.getElementById("index").textContent);
  const ROW = 24, COLUMN = 26, HEAD = 176, SIDE = 250, WIDE = 110;
  const $ = id => document.getElementById(id);
  const state = { env: 0, other: -1, group: "", rows: [], columns: [], row: 0, column: 0, open: null };

  // element returns an element with attributes, listeners and children.
  function element(tag, attributes, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "class") e.className = value;
      else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
      else e.setAttribute(name, value);
    }
    e.append(...children.filter(c => c !== null && c !== undefined));
    return e;
  }
  const plural = (n, noun) => n + " " + noun + (n === 1 ? "" : "s");
  const env = () => fleet.environments[state.env];

  // assignments of each environment: for each cluster type a map of target positions to reason positions.
  const assigned = fleet.environments.map(e => e.on.map(list => {
    const on = new Map();
    for (let i = 0; i < list.length; i += 2) on.set(list[i], list[i + 1]);
    return on;
  }));
  const byName = fleet.environments.map(e => ({
    types: new Map(e.clusterTypes.map((c, i) => [c.n, i])), targets: new Map(e.targets.map((t, i) => [t.n, i])),
  }));

  // matches reports whether an object matches every word of a search: in its name, workload, workspace, label values or as label=value.
  function matches(object, words) {
    return words.every(word => {
      if (word.includes("=")) return (object.l || []).some(([k, v]) => (k + "=" + v).toLowerCase().startsWith(word));
      return [object.n, object.w || "", object.s || "", ...(object.l || []).map(([, v]) => v)].some(text => text.toLowerCase().includes(word));
    });
  }
  const words = id => $(id).value.toLowerCase().split(/\s+/).filter(w => w);

  // A row is a target: its name, and its positions in the selected environment (here) and in the compared one (there); -1 for
  // none. A column is a list of cluster types in the same form.
  function names(kind, find) {
    const here = env()[kind], there = state.other < 0 ? [] : fleet.environments[state.other][kind];
    const all = new Map();
    here.forEach((o, i) => all.set(o.n, { n: o.n, o, here: i, there: -1 }));
    there.forEach((o, i) => { if (all.has(o.n)) all.get(o.n).there = i; else all.set(o.n, { n: o.n, o, here: -1, there: i }); });
    const wanted = words(find);
    return [...all.values()].filter(x => matches(x.o, wanted)).sort((a, b) => a.n < b.n ? -1 : a.n > b.n ? 1 : 0);
  }
  function choose() {
    const row = (state.rows[state.row] || {}).n, column = (state.columns[state.column] || {}).n;
    state.rows = names("targets", "find-target");
    const types = names("clusterTypes", "find-type");
    if (!state.group) state.columns = types.map(t => ({ n: t.n, types: [t] }));
    else {
      const groups = new Map();
      for (const t of types) {
        const label = (t.o.l || []).find(([k]) => k === state.group);
        const value = label ? label[1] : "";
        if (!groups.has(value)) groups.set(value, { n: value, types: [] });
        groups.get(value).types.push(t);
      }
      state.columns = [...groups.values()].sort((a, b) => a.n < b.n ? -1 : 1);
      for (const g of state.columns) g.n = (g.n ? state.group + "=" + g.n : "no " + state.group) + " (" + plural(g.types.length, "cluster type") + ")";
    }
    state.row = Math.max(0, state.rows.findIndex(r => r.n === row)); // keep the selection if it still exists
    state.column = Math.max(0, state.columns.findIndex(c => c.n === column));
  }

  // pair fills partners: the counterparts with other names in the compared environment.
  let partners = new Map();
  function pair() {
    partners = new Map();
    for (const p of fleet.pairs) {
      const forward = p.one === state.env && p.other === state.other, back = p.one === state.other && p.other === state.env;
      for (const [type, one, other] of forward || back ? p.names : []) {
        const [here, there] = forward ? [one, other] : [other, one];
        partners.set("here\n" + type + "\n" + here, there);
        partners.set("there\n" + type + "\n" + there, here);
      }
    }
  }
  const partner = (side, type, target) => partners.get(side + "\n" + type.n + "\n" + target.n);

  // count counts the cluster types of a column that have a target, in both environments.
  function count(row, column) {
    let here = 0, there = 0, added = 0, removed = 0, paired = 0;
    for (const t of column.types) {
      const a = row.here >= 0 && t.here >= 0 && assigned[state.env][t.here].has(row.here);
      const b = state.other >= 0 && row.there >= 0 && t.there >= 0 && assigned[state.other][t.there].has(row.there);
      here += a; there += b;
      if (a && !b) { if (partner("here", t, row)) paired++; else removed++; }
      if (b && !a) { if (partner("there", t, row)) paired++; else added++; }
    }
    return { here, there, added, removed, paired };
  }

  const width = () => state.group ? WIDE : COLUMN;
  function place(e, x, y, w, h) {
    e.style.left = x + "px"; e.style.top = y + "px"; e.style.width = w + "px"; e.style.height = h + "px";
    return e;
  }
  // draw renders only the visible part of the grid.
  function draw() {
    const grid = $("grid"), w = width();
    $("space").style.width = SIDE + state.columns.length * w + "px";
    $("space").style.height = HEAD + state.rows.length * ROW + "px";
    const firstRow = Math.max(0, Math.floor(grid.scrollTop / ROW)), lastRow = Math.min(state.rows.length, firstRow + Math.ceil(grid.clientHeight / ROW) + 1);
    const firstColumn = Math.max(0, Math.floor(grid.scrollLeft / w)), lastColumn = Math.min(state.columns.length, firstColumn + Math.ceil(grid.clientWidth / w) + 1);
    const view = document.createDocumentFragment();
    const x = c => SIDE + c * w - grid.scrollLeft, y = r => HEAD + r * ROW - grid.scrollTop;
    for (let r = firstRow; r < lastRow; r++) for (let c = firstColumn; c < lastColumn; c++) view.append(cell(r, c, x(c), y(r), w));
    for (let c = firstColumn; c < lastColumn; c++) {
      const e = element("div", { class: "type" + (c === state.column ? " here" : ""), role: "columnheader", title: state.columns[c].n, "data-c": c }, element("span", {}, state.columns[c].n));
      view.append(place(e, x(c), 0, w, HEAD));
    }
    for (let r = firstRow; r < lastRow; r++) {
      const e = element("div", { class: "target" + (r === state.row ? " here" : ""), role: "rowheader", title: state.rows[r].n, "data-r": r }, state.rows[r].n);
      view.append(place(e, 0, y(r), SIDE, ROW));
    }
    view.append(place(element("div", { class: "corner" }, plural(state.rows.length, "target"), element("br"), plural(state.columns.length, state.group ? "group" : "cluster type")), 0, 0, SIDE, HEAD));
    $("view").replaceChildren(view);
  }
  function cell(r, c, left, top, w) {
    const row = state.rows[r], column = state.columns[c], n = count(row, column);
    let text = "", kind = "cell";
    const known = column.types.filter(t => t.here >= 0).length;
    if (state.group) text = n.here ? (n.here === known ? "all " + n.here : n.here + " of " + known) : "";
    else text = n.here ? "●" : "";
    if (n.paired && !state.group) text = "≈";
    if (n.here) kind += " on";
    if (state.other >= 0 && n.added) { kind += " added"; if (!state.group) text = "+"; }
    if (state.other >= 0 && n.removed) { kind += " removed"; if (!state.group) text = "−"; }
    const differs = state.other < 0 ? "" : [["+", n.added], ["−", n.removed], ["≈", n.paired]].filter(([, k]) => k).map(([mark, k]) => mark + k).join(" ");
    if (state.group && differs) text = (text || "none of " + known) + " (" + differs + ")";
    if (r === state.row && c === state.column) kind += " here";
    const one = column.types[0], counterpart = n.paired && !state.group ? partner(n.here ? "here" : "there", one, row) : "";
    const said = row.n + " on " + column.n + ": " + (state.group ? text || "not scheduled" : counterpart ? "compared with " + counterpart : state.other >= 0 && n.added ? "only in " + fleet.environments[state.other].name : state.other >= 0 && n.removed ? "only in " + env().name : n.here ? "scheduled" : "not scheduled");
    return place(element("div", { class: kind, role: "gridcell", title: said, "data-r": r, "data-c": c }, text), left, top, w, ROW);
  }
  let drawing = false;
  function redraw() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => { drawing = false; draw(); });
  }
  // reveal scrolls to the selected cell.
  function reveal() {
    const grid = $("grid"), w = width(), top = state.row * ROW, left = state.column * w;
    if (top < grid.scrollTop) grid.scrollTop = top;
    if (top + ROW > grid.scrollTop + grid.clientHeight - HEAD) grid.scrollTop = top + ROW - grid.clientHeight + HEAD;
    if (left < grid.scrollLeft) grid.scrollLeft = left;
    if (left + w > grid.scrollLeft + grid.clientWidth - SIDE) grid.scrollLeft = left + w - grid.clientWidth + SIDE;
  }

  // unpack returns the content of a compressed block.
  const unpacked = new Map();
  function unpack(id) {
    if (!unpacked.has(id)) {
      const packed = Uint8Array.from(atob($(id).textContent), s => s.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      unpacked.set(id, new Response(stream).json());
    }
    return unpacked.get(id);
  }
  // contentOf returns the files and values of a target on a cluster type.
  async function contentOf(e, c, name) {
    const [content, table] = await Promise.all([unpack("on-" + e + "-" + c), unpack("table-" + e)]);
    const own = content.targets[name];
    const values = content.configs[own.config].map(value => {
      const stack = value.o.map((n, i) => ({ ...table.entries[n], m: (value.m || []).includes(i) }));
      return { k: stack[0].k, v: value.v === undefined ? stack[stack.length - 1].v : value.v, o: stack };
    });
    return { files: own.files || [], values };
  }

  const at = text => text ? element("div", { class: "at" }, text) : null;
  function labels(o) {
    return element("dd", {}, (o.l || []).map(([k, v]) => k + "=" + v).join(", ") || "none");
  }
  function facts(title, o) {
    return element("div", {}, element("h3", {}, title + " " + o.n), element("dl", {},
      ...(o.w ? [element("dt", {}, "workload"), element("dd", {}, o.w)] : []), ...(o.s ? [element("dt", {}, "workspace"), element("dd", {}, o.s)] : []),
      element("dt", {}, "labels"), labels(o), ...(o.at ? [element("dt", {}, "source"), element("dd", { class: "at" }, o.at)] : [])));
  }
  function show(title, ...parts) {
    const detail = $("detail");
    detail.replaceChildren(element("button", { class: "close", onclick: close, "aria-label": "Close" }, "✕"), element("h2", {}, title), ...parts);
    detail.hidden = false;
    detail.scrollTop = 0;
    reveal(); // the grid is narrower now
    redraw();
  }
  function hide() {
    $("detail").hidden = true;
    state.open = null;
  }
  function close() {
    hide();
    $("grid").focus();
    redraw();
  }
  function command(text) { return element("pre", {}, text); }

  // openCell shows the policies, configuration and manifests of a target on a cluster type.
  async function openCell(r, c) {
    const row = state.rows[r], column = state.columns[c];
    if (!row || !column) return;
    if (column.types.length !== 1 || state.group) return openGroup(row, column);
    const type = column.types[0], title = row.n + " on " + type.n;
    const mine = state.open = {};
    const sides = [];
    const mineName = row.here >= 0 && type.here >= 0 && assigned[state.env][type.here].has(row.here) ? row.n : partner("there", type, row) || row.n;
    const otherName = partner("here", type, { n: mineName }) || mineName;
    for (const [e, name, on] of [[state.env, mineName, type.here], [state.other, otherName, type.there]]) {
      if (e < 0) continue;
      const found = byName[e].targets.get(name), target = found === undefined ? -1 : found;
      const reason = target >= 0 && on >= 0 ? assigned[e][on].get(target) : undefined;
      sides.push({ e: fleet.environments[e], reason, name, target, on, own: reason === undefined ? null : await contentOf(e, on, name) });
    }
    if (state.open !== mine) return; // another cell was opened meanwhile
    const parts = [];
    for (const s of sides) {
      const where = sides.length > 1 ? " in " + s.e.name : "";
      if (s.reason === undefined) {
        if (s.target < 0 || s.on < 0) {
          parts.push(element("p", {}, s.e.name + (s.target < 0 ? " has no deployment target " + s.name : " has no cluster type " + type.n) + "."));
          continue;
        }
        parts.push(element("p", {}, "Not scheduled" + where + ". To see why, run:"), command("kalypso explain target " + row.n + " --env " + s.e.name + " --cluster-type " + type.n));
        continue;
      }
      parts.push(element("h3", {}, "Scheduled" + where + (s.name === row.n ? "" : " as " + s.name) + " by"), element("ul", {}, ...s.e.reasons[s.reason].map(p => element("li", {}, "policy " + p.n, at(p.at)))));
    }
    const there = sides.filter(s => s.own);
    if (there.length) parts.push(configuration(there), ...there.map(s => manifests(s, there.length > 1)));
    parts.push(facts("Deployment target", row.o), facts("Cluster type", type.o));
    show(title, ...parts);
  }
  // configuration returns a table of the values of one or two environments.
  function configuration(sides) {
    const entries = sides.map(s => new Map(s.own.values.map(entry => [entry.k, entry])));
    const keys = [...new Set(entries.flatMap(m => [...m.keys()]))].sort();
    if (!keys.length) return element("p", {}, "No configuration.");
    const rows = keys.map(k => {
      const values = entries.map(m => m.get(k));
      const differs = values.length > 1 && (values[0] && values[0].v) !== (values[1] && values[1].v);
      return element("tr", { class: differs ? "warning" : "" }, element("td", {}, k, differs ? " ≠" : ""), ...values.map(v => element("td", {}, v ? value(v) : element("span", { class: "notice" }, "none"))));
    });
    return element("div", {}, element("h3", {}, "Configuration"), element("table", {},
      element("thead", {}, element("tr", {}, element("th", {}, "key"), ...sides.map(s => element("th", {}, sides.length > 1 ? s.e.name : "value")))), element("tbody", {}, ...rows)));
  }
  function value(entry) {
    const above = entry.o.slice().reverse(), top = above[0];
    const long = entry.v.length > 60 || entry.v.trimEnd().includes("\n");
    return element("details", {}, element("summary", {}, element("code", {}, long ? entry.v.split("\n")[0].slice(0, 60) + " …" : entry.v || '""'), " ", element("span", { class: "notice" }, "from " + top.n + (entry.o.length > 1 ? (top.m ? ", merged" : ", overrides " + (entry.o.length - 1)) : ""))),
      long ? element("pre", {}, entry.v) : null, ...above.map((o, i) => element("div", {}, (i === 0 ? "from " : above[i - 1].m ? "merged with " : "overrides ") + o.n, at(o.at), i > 0 || o.m ? element("pre", {}, o.v) : null)));
  }
  function manifests(side, named) {
    return element("div", {}, element("h3", {}, "Manifests" + (named ? " in " + side.e.name : "")), ...(side.own.files.length ? side.own.files.map(([name, text]) => element("details", {}, element("summary", {}, name), element("pre", {}, text))) : [element("p", {}, fleet.manifests ? "Not rendered." : "The manifests are too large for this report. To write them to a directory, run:"), fleet.manifests ? null : command("kalypso render --env " + side.e.name + " --output-dir out")]));
  }
  function openGroup(row, column) {
    state.open = {};
    const on = column.types.filter(t => row.here >= 0 && t.here >= 0 && assigned[state.env][t.here].has(row.here));
    const off = column.types.filter(t => !on.includes(t));
    const list = types => element("ul", {}, ...types.map(t => element("li", {}, element("button", { onclick: () => goTo(row.n, t.n) }, t.n))));
    const there = t => state.other >= 0 && row.there >= 0 && t.there >= 0 && assigned[state.other][t.there].has(row.there);
    const others = state.other < 0 ? [] : off.filter(there);
    show(row.n + " on " + column.n, element("h3", {}, "Scheduled on " + on.length), list(on), ...(others.length ? [element("h3", {}, "Only in " + fleet.environments[state.other].name + ", on " + others.length), list(others)] : []),
      element("h3", {}, "Not on " + off.filter(t => !there(t)).length), list(off.filter(t => !there(t))), facts("Deployment target", row.o));
  }
  // goTo removes grouping and search, and opens a cell.
  function goTo(target, type) {
    $("group").value = state.group = "";
    $("find-type").value = ""; $("find-target").value = "";
    choose();
    state.row = Math.max(0, state.rows.findIndex(r => r.n === target));
    state.column = Math.max(0, state.columns.findIndex(c => c.n === type));
    summarize(); reveal(); redraw();
    $("grid").focus(); // the focused button no longer exists
    openCell(state.row, state.column);
  }
  function openTarget(r) {
    const row = state.rows[r], on = [];
    state.open = {};
    env().clusterTypes.forEach((t, i) => { if (row.here >= 0 && assigned[state.env][i].has(row.here)) on.push(t); });
    if (row.here < 0) return show(row.n, element("p", {}, env().name + " has no deployment target " + row.n + "."), facts("In " + fleet.environments[state.other].name + ": deployment target", row.o));
    show(row.n, facts("Deployment target", row.o), element("h3", {}, "On " + plural(on.length, "cluster type")), element("ul", {}, ...on.map(t => element("li", {}, element("button", { onclick: () => goTo(row.n, t.n) }, t.n)))),
      element("p", {}, "To see why it is not on others, run:"), command("kalypso explain target " + row.n + " --env " + env().name));
  }
  function openType(c) {
    const column = state.columns[c];
    if (state.group || column.types[0].here < 0) return;
    const i = column.types[0].here, on = [...assigned[state.env][i].keys()].sort((a, b) => a - b).map(t => env().targets[t]);
    state.open = {};
    show(column.n, facts("Cluster type", column.types[0].o), element("h3", {}, plural(on.length, "target")), element("ul", {}, ...on.map(t => element("li", {}, element("button", { onclick: () => goTo(t.n, column.n) }, t.n)))));
  }

  function summarize() {
    const e = env(), all = e.on.reduce((n, list) => n + list.length / 2, 0);
    let text = plural(e.targets.length, "target") + " of " + plural(new Set(e.targets.map(t => t.w).filter(w => w)).size, "workload") + ", " + plural(e.clusterTypes.length, "cluster type") + ", " + plural(all, "assignment");
    if (state.other >= 0) {
      let added = 0, removed = 0;
      for (const row of state.rows) for (const column of state.columns) { const n = count(row, column); added += n.added; removed += n.removed; }
      text += ". Compared with " + fleet.environments[state.other].name + ": +" + added + " −" + removed;
      if (fleet.environments[state.other].diagnostics.some(d => d.severity === "error")) text += ". " + fleet.environments[state.other].name + " has errors";
    }
    if (state.rows.length !== e.targets.length || (!state.group && state.columns.length !== e.clusterTypes.length)) text += ". Shown: " + plural(state.rows.length, "target") + ", " + plural(state.columns.length, state.group ? "group" : "cluster type");
    $("summary").textContent = text;
    $("foot").textContent = "kalypso " + fleet.version + " · Keyboard: / search, arrows move, Enter cell, t target, c cluster type, Esc close";
  }
  // legend explains the marks that the grid can show now.
  function legend() {
    const other = (fleet.environments[state.other] || {}).name;
    const marks = state.group ? [["1 of 2", "on 1 of the 2 cluster types of the group"]] : [["●", "scheduled"]];
    if (other) marks.push(["+", "only in " + other], ["−", "only in " + env().name], ["≈", "in both, with different names"]);
    if ($("tabs").querySelector(".bad")) marks.push(["!", "environment with errors"]);
    $("legend").replaceChildren(...marks.flatMap(([mark, meaning], i) => [i ? " · " : "", element("b", {}, mark), " " + meaning]));
  }
  // sources lists the commits of the environment.
  function sources() {
    const e = env(), box = $("sources");
    box.hidden = !e.sources.length;
    const text = "Compiled from " + (e.sources.length === 1 ? "1 branch" : e.sources.length + " branches") + (e.date ? ", newest commit of " + e.date : "") + (e.promoted ? ", promoted commit " + e.promoted.slice(0, 12) : "");
    box.replaceChildren(element("summary", {}, text), element("ul", {}, ...e.sources.map(s => element("li", {}, s.name + " ", s.commit ? element("code", {}, s.commit) : null))));
  }
  function problems() {
    const list = env().diagnostics.filter(d => d.severity !== "notice"), box = $("problems"), errors = list.filter(d => d.severity === "error").length;
    box.hidden = !list.length;
    if (!list.length) return;
    box.open = errors > 0;
    const counts = [[errors, "error"], [list.length - errors, "warning"]].filter(([n]) => n).map(([n, noun]) => plural(n, noun)).join(", ");
    box.replaceChildren(element("summary", { class: errors ? "error" : "warning" }, counts), element("ul", {}, ...list.slice(0, 500).map(d =>
      element("li", {}, element("span", { class: d.severity }, d.severity + ": "), d.message + " [" + d.rule + "]", d.hint ? element("div", { class: "notice" }, d.hint) : null, at(d.at), ...(d.related || []).map(line => element("div", { class: "at" }, line)))), ...(list.length > 500 ? [element("li", {}, "and " + (list.length - 500) + " more")] : [])));
  }
  function update() { pair(); choose(); summarize(); legend(); redraw(); }
  function select(i) {
    state.env = i;
    if (state.other === i || !fleet.environments[i].read) state.other = -1;
    [...$("tabs").children].forEach((tab, n) => { tab.setAttribute("aria-selected", n === i); tab.tabIndex = n === i ? 0 : -1; });
    const keys = new Set(env().clusterTypes.flatMap(c => (c.l || []).map(([k]) => k)));
    if (!keys.has(state.group)) state.group = "";
    $("group").replaceChildren(element("option", { value: "" }, "none"), ...[...keys].sort().map(k => element("option", { value: k }, k)));
    $("group").value = state.group;
    $("compare").replaceChildren(element("option", { value: "-1" }, "none"), ...fleet.environments.map((e, n) => n === i || !e.read || !fleet.environments[i].read ? null : element("option", { value: n }, e.name)).filter(o => o));
    $("compare").value = state.other;
    hide(); problems(); sources(); update();
  }
  // printout lists all assignments for printing.
  function printout() {
    const e = env();
    $("problems").open = true;
    $("print").replaceChildren(element("h1", {}, "Environment " + e.name), ...e.clusterTypes.map((c, i) => element("div", {}, element("h2", {}, c.n), element("p", { class: "at" }, (c.l || []).map(([k, v]) => k + "=" + v).join(", ")),
      element("p", {}, [...assigned[state.env][i].keys()].sort((a, b) => a - b).map(t => e.targets[t].n).join(", ") || "no deployment targets"))));
  }

  $("fleet").textContent = "Fleet " + fleet.controlPlane;
  document.title = "Fleet " + fleet.controlPlane;
  fleet.environments.forEach((e, i) => $("tabs").append(element("button", { role: "tab", class: e.diagnostics.some(d => d.severity === "error") ? "bad" : "", onclick: () => select(i) }, e.name)));
  $("tabs").addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (state.env + step + fleet.environments.length) % fleet.environments.length;
    select(next); $("tabs").children[next].focus();
  });
  for (const id of ["find-target", "find-type"]) $(id).addEventListener("input", () => { $("grid").scrollTop = $("grid").scrollLeft = 0; update(); });
  $("group").addEventListener("change", () => { state.group = $("group").value; $("grid").scrollLeft = 0; hide(); update(); });
  $("compare").addEventListener("change", () => { state.other = Number($("compare").value); hide(); update(); });
  const grid = $("grid");
  grid.addEventListener("scroll", redraw);
  new ResizeObserver(redraw).observe(grid);
  grid.addEventListener("click", event => {
    const e = event.target.closest("[data-r],[data-c]");
    if (!e) return;
    if (e.dataset.r !== undefined) state.row = Number(e.dataset.r);
    if (e.dataset.c !== undefined) state.column = Number(e.dataset.c);
    redraw();
    if (e.dataset.c === undefined) openTarget(state.row); else if (e.dataset.r === undefined) openType(state.column); else openCell(state.row, state.column);
  });
  grid.addEventListener("keydown", event => {
    const page = Math.max(1, Math.floor((grid.clientHeight - HEAD) / ROW) - 1);
    const move = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageDown: [page, 0], PageUp: [-page, 0], Home: [0, -1e9], End: [0, 1e9] }[event.key];
    if (event.key === "Enter" || event.key === " ") openCell(state.row, state.column);
    else if (event.key === "t" && state.rows.length) openTarget(state.row);
    else if (event.key === "c" && state.columns.length) openType(state.column);
    else if (move) {
      state.row = Math.min(Math.max(0, state.row + move[0]), Math.max(0, state.rows.length - 1));
      state.column = Math.min(Math.max(0, state.column + move[1]), Math.max(0, state.columns.length - 1));
      reveal(); redraw();
      const row = state.rows[state.row], column = state.columns[state.column];
      if (row && column) grid.setAttribute("aria-description", row.n + " on " + column.n + (count(row, column).here ? ": scheduled" : ": not scheduled"));
    } else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && !/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) { $("find-target").focus(); event.preventDefault(); }
    if (event.key === "Escape" && !$("detail").hidden) close();
  });
  addEventListener("beforeprint", printout);
  if (fleet.environments.length) select(0); else $("summary").textContent = "No environments.";
})();
