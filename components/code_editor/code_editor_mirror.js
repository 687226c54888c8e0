// CodeMirror behind the interface of code_editor.js: for small screens, and where Monaco wasn't built.
import * as CM from "nicegui-codemirror";

// CodeMirror's default colours mapped to tokens of theme.css; all others become --ink.
const TOKENS = { "#708": "keyword", "#219": "keyword", "#164": "number", "#a11": "string", "#e40": "string", "#940": "comment" };
const COLOURS = CM.HighlightStyle.define(CM.defaultHighlightStyle.specs.map(({ tag, color, ...rest }) => (
  { tag, ...rest, color: TOKENS[color] ? `var(--code-${TOKENS[color]})` : "var(--ink)" }
)));
const LOOKS = CM.EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller, .cm-tooltip": { fontFamily: "var(--font-mono)" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--ink-3)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--sunken)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--surface)", color: "var(--ink)", borderColor: "var(--line-strong)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--sunken)", color: "var(--ink)" },
  ".cm-panels input, .cm-panels button": { color: "var(--ink)", backgroundColor: "var(--sunken)", backgroundImage: "none" },
});

const setMarks = CM.StateEffect.define();
const marks = CM.StateField.define({
  create: () => CM.Decoration.none,
  update(shown, change) {
    const fresh = change.effects.find((effect) => effect.is(setMarks));
    return fresh ? CM.Decoration.set(fresh.value, true) : shown.map(change.changes);
  },
  provide: (field) => CM.EditorView.decorations.from(field),
});

export class Editor {
  static async open(place, options) {
    const python = await CM.LanguageDescription.matchLanguageName(CM.languages, "python").load();
    return new Editor(python, place, options);
  }

  constructor(python, place, { text, label, words, readOnly, saved, on }) {
    Object.assign(this, { place, words, on });
    const listen = (update) => { if (update.docChanged) this.on.change(); };
    const offers = [{ autocomplete: (context) => this.suggest(context) }]; // a constant: CodeMirror compares sources by identity
    const keys = [{ key: "Mod-s", preventDefault: true, run: () => { this.on.save(); return true; } },
      { key: "Shift-Alt-f", run: () => { this.on.format(); return true; } }, { key: "Escape", run: () => { this.on.escape(); return false; } }];
    const extensions = [CM.basicSetup, CM.Prec.high(CM.keymap.of(readOnly ? keys.slice(2) : keys)), CM.keymap.of([CM.indentWithTab]), python, LOOKS,
      CM.syntaxHighlighting(COLOURS), CM.indentUnit.of("    "), CM.EditorView.lineWrapping, marks, CM.EditorView.updateListener.of(listen),
      CM.EditorState.languageData.of(() => offers),
      CM.hoverTooltip((view, at) => this.explain(view, at)), CM.EditorState.readOnly.of(readOnly), CM.EditorView.editable.of(!readOnly),
      CM.EditorView.contentAttributes.of({ "aria-label": label, autocapitalize: "off", autocorrect: "off", spellcheck: "false",
        ...(readOnly ? { tabindex: "0" } : {}) })];
    const fields = { history: CM.historyField };
    const options = { extensions };
    const state = saved ? CM.EditorState.fromJSON(saved, options, fields) : CM.EditorState.create({ ...options, doc: text });
    this.view = new CM.EditorView({ state, parent: place });
    this.fields = fields;
  }

  get text() { return this.view.state.doc.toString(); }
  set text(text) { this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } }); }

  // A unified diff: the screen is too narrow for two texts side by side.
  compare(text) {
    this.lines?.remove();
    this.view.dom.hidden = text !== null;
    if (text === null) return;
    this.lines = Object.assign(document.createElement("pre"), { className: "lab-diff", tabIndex: 0 });
    for (const [sign, line] of differences(text.split("\n"), this.text.split("\n"))) {
      const row = document.createElement("span");
      row.className = { "+": "is-added", "-": "is-removed" }[sign] ?? "";
      row.textContent = `${sign} ${line}\n`;
      this.lines.append(row);
    }
    this.place.append(this.lines);
  }

  mark(problems) {
    const doc = this.view.state.doc;
    const ranges = problems.map(({ line, column, endLine, endColumn, isError, message }) => {
      const place = doc.line(Math.min(Math.max(line, 1), doc.lines));
      const from = Math.min(place.from + Math.max(column - 1, 0), Math.max(place.to - 1, place.from));
      const end = endLine && endLine <= doc.lines ? doc.line(endLine) : place;
      const to = endColumn ? Math.min(end.from + endColumn - 1, end.to) : place.to;
      const look = { class: isError ? "lab-squiggle is-error" : "lab-squiggle", attributes: { title: message } };
      return to > from ? CM.Decoration.mark(look).range(from, to) : null;
    });
    this.view.dispatch({ effects: setMarks.of(ranges.filter(Boolean)) });
  }

  reveal(line, column = 1) {
    const doc = this.view.state.doc;
    const place = doc.line(Math.min(Math.max(line, 1), doc.lines));
    const at = Math.min(place.from + column - 1, place.to);
    this.view.dispatch({ selection: { anchor: at }, effects: CM.EditorView.scrollIntoView(at, { y: "center" }) });
    this.view.focus();
  }

  undo() { CM.undo(this.view); this.view.focus(); }
  redo() { CM.redo(this.view); this.view.focus(); }
  find() {
    this.view.focus();
    const onMac = /Mac|iP(hone|ad)/.test(navigator.platform);
    CM.runScopeHandlers(this.view, new KeyboardEvent("keydown", { key: "f", keyCode: 70, ctrlKey: !onMac, metaKey: onMac }), "editor");
  }
  focus() { this.view.focus(); }

  suggest(context) {
    const word = context.matchBefore(/\w*/);
    const line = context.state.doc.lineAt(word.from);
    const before = line.text.slice(0, word.from - line.from);
    if (word.from === word.to && !context.explicit && !before.endsWith(".")) return null;
    const options = this.words(before).map(({ name, kind, detail, about }, place) => (
      { label: name, type: kind.toLowerCase(), detail, info: about || undefined, boost: -place / 100 }
    ));
    return { from: word.from, options, validFor: /^\w*$/ };
  }

  explain(view, at) {
    const word = view.state.wordAt(at);
    if (!word) return null;
    const line = view.state.doc.lineAt(word.from);
    const name = view.state.sliceDoc(word.from, word.to);
    const found = this.words(line.text.slice(0, word.from - line.from)).find((one) => one.name === name && (one.detail || one.about));
    if (!found) return null;
    const dom = Object.assign(document.createElement("div"), { className: "lab-code-hint" });
    dom.textContent = [found.detail, found.about].filter(Boolean).join("\n");
    return { pos: word.from, end: word.to, above: true, create: () => ({ dom }) };
  }

  end() {
    const saved = this.view.state.toJSON(this.fields);
    this.lines?.remove();
    this.view.destroy();
    return saved;
  }
}

// A line diff by the longest common subsequence.
function differences(before, after) {
  const longest = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      longest[i][j] = before[i] === after[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) { lines.push([" ", after[j]]); i++; j++; }
    else if (j >= after.length || (i < before.length && longest[i + 1][j] >= longest[i][j + 1])) lines.push(["-", before[i++]]);
    else lines.push(["+", after[j++]]);
  }
  return lines;
}
