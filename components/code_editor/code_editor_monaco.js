// Monaco behind the interface of code_editor.js; loaded once per page, when the first editor opens.
const LANGUAGE = "python";
const MINIMAL = { minimap: { enabled: false }, scrollBeyondLastLine: false, overviewRulerLanes: 0, renderLineHighlight: "line", renderWhitespace: "none", padding: { top: 8 } };
const NOTHING_OPEN = "editorTextFocus && !suggestWidgetVisible && !findWidgetVisible && !inSnippetMode && !markersNavigationVisible"
  + " && !editorHasSelection && !editorHasMultipleSelections && !editorHoverVisible";
const editors = new Map(); // by model URI, for the providers that all editors share
let loading;

export const load = () => (loading ??= begin().catch((error) => { loading = undefined; throw error; }));

async function begin() {
  const [{ monaco }] = await Promise.all([import("lab-monaco"), stylesheet(), document.fonts.load('13px "JetBrains Mono"')]);
  applyTheme(monaco);
  new MutationObserver(() => applyTheme(monaco)).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  const of = (model) => editors.get(model.uri.toString());
  monaco.languages.registerCompletionItemProvider(LANGUAGE, {
    triggerCharacters: ["."],
    provideCompletionItems: (model, at) => of(model)?.suggest(model, at),
  });
  monaco.languages.registerHoverProvider(LANGUAGE, { provideHover: (model, at) => of(model)?.explain(model, at) });
  return monaco;
}

function stylesheet() {
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: import.meta.resolve("lab-monaco/index.css") });
  const done = new Promise((resolve, reject) => { link.onload = resolve; link.onerror = reject; });
  document.head.append(link);
  return done;
}

// Monaco doesn't support CSS variables: the tokens are read again whenever the theme changes.
function applyTheme(monaco) {
  const style = getComputedStyle(document.body);
  const token = (name) => style.getPropertyValue(`--${name}`).trim();
  const text = (name) => token(name).slice(1);
  const [surface, sunken, ink, faint, line, strong] = ["surface", "sunken", "ink", "ink-3", "line", "line-strong"].map(token);
  const rules = [["", "ink"], ["comment", "code-comment"], ["keyword", "code-keyword"], ["string", "code-string"], ["number", "code-number"],
    ["string.escape", "code-string"], ["type", "ink"], ["delimiter", "ink"], ["tag", "code-keyword"]];
  monaco.editor.defineTheme("lab", {
    base: document.body.classList.contains("body--dark") ? "vs-dark" : "vs",
    inherit: true,
    rules: rules.map(([name, colour]) => ({ token: name, foreground: text(colour) })),
    colors: {
      "editor.background": surface, "editor.foreground": ink, "editorLineNumber.foreground": faint, "editorLineNumber.activeForeground": ink,
      "editor.lineHighlightBackground": sunken, "editor.lineHighlightBorder": sunken, "editorGutter.background": surface,
      "editorIndentGuide.background1": line, "editorIndentGuide.activeBackground1": strong, "editorCursor.foreground": ink,
      "editorWidget.background": surface, "editorWidget.foreground": ink, "editorWidget.border": strong,
      "editorSuggestWidget.background": surface, "editorSuggestWidget.foreground": ink, "editorSuggestWidget.border": strong,
      "editorSuggestWidget.selectedBackground": sunken, "editorSuggestWidget.selectedForeground": ink,
      "editorSuggestWidget.highlightForeground": token("code-keyword"), "editorSuggestWidget.focusHighlightForeground": token("code-keyword"),
      "editorHoverWidget.background": surface, "editorHoverWidget.foreground": ink, "editorHoverWidget.border": strong,
      "editorError.foreground": token("danger"), "editorWarning.foreground": token("ink-2"), "focusBorder": token("accent"),
      "input.background": surface, "input.foreground": ink, "input.border": strong, "list.hoverBackground": sunken,
      "editorBracketHighlight.foreground1": ink, "editorBracketHighlight.foreground2": ink, "editorBracketHighlight.foreground3": ink,
      "menu.background": surface, "menu.foreground": ink, "menu.selectionBackground": sunken, "menu.selectionForeground": ink,
      "diffEditor.insertedTextBackground": `${token("success")}33`, "diffEditor.removedTextBackground": `${token("danger")}26`,
      "diffEditor.insertedLineBackground": `${token("success")}14`, "diffEditor.removedLineBackground": `${token("danger")}12`,
      "scrollbar.shadow": "#00000000", "editorOverviewRuler.border": "#00000000",
    },
  });
  monaco.editor.setTheme("lab");
}

export class Editor {
  static async open(place, options) {
    const monaco = await load();
    return new Editor(monaco, place, options);
  }

  // `saved` is the model of a closed editor of the same element, with its text and undo history.
  constructor(monaco, place, { text, label, words, readOnly, saved, on }) {
    Object.assign(this, { monaco, place, label, words, readOnly, on });
    this.model = saved ?? monaco.editor.createModel(text, LANGUAGE);
    editors.set(this.model.uri.toString(), this);
    this.listening = this.model.onDidChangeContent(() => { this.captureTab(); on.change(); });
    this.compare(null);
  }

  get text() { return this.model.getValue(); }
  set text(text) {
    this.editor.pushUndoStop();
    this.editor.executeEdits("lab", [{ range: this.model.getFullModelRange(), text }]);
    if (this.readOnly && this.text !== text) this.model.setValue(text); // read-only editors take no edits
    this.editor.pushUndoStop();
  }

  // Shows the difference to another, read-only text; null shows the code alone.
  compare(text) {
    const state = this.editor?.saveViewState();
    this.close();
    const options = { automaticLayout: true, theme: "lab", fontFamily: '"JetBrains Mono", monospace', fontSize: 13, lineHeight: 20, tabSize: 4,
      ariaLabel: this.label, fixedOverflowWidgets: true, bracketPairColorization: { enabled: false }, wordBasedSuggestions: "currentDocument",
      unicodeHighlight: { ambiguousCharacters: true }, readOnly: this.readOnly, domReadOnly: this.readOnly,
      scrollbar: { alwaysConsumeMouseWheel: false }, ...MINIMAL };
    if (text === null) {
      this.shown = this.editor = this.monaco.editor.create(this.place, { ...options, model: this.model });
    } else {
      this.other = this.monaco.editor.createModel(text, LANGUAGE);
      const wide = { originalEditable: false, renderSideBySide: true, renderOverviewRuler: false, originalAriaLabel: "Compared with",
        modifiedAriaLabel: this.label };
      this.shown = this.monaco.editor.createDiffEditor(this.place, { ...options, ...wide });
      this.shown.setModel({ original: this.other, modified: this.model });
      this.editor = this.shown.getModifiedEditor();
    }
    if (state) this.editor.restoreViewState(state);
    this.editor.onDidBlurEditorWidget(() => this.captureTab());
    this.addKeys();
  }

  addKeys() {
    const { KeyMod, KeyCode } = this.monaco;
    const add = (id, label, key, run, precondition) => this.editor.addAction({ id: `lab.${id}`, label, keybindings: [key], run, precondition });
    add("leave", "Let Tab leave the editor", KeyCode.Escape, () => this.escape(), NOTHING_OPEN);
    if (this.readOnly) return;
    add("save", "Save", KeyMod.CtrlCmd | KeyCode.KeyS, () => this.on.save());
    add("format", "Format", KeyMod.Shift | KeyMod.Alt | KeyCode.KeyF, () => this.on.format());
  }

  escape() {
    // Pending suggestions would open afterwards and capture the next Tab.
    this.editor.getContribution("editor.contrib.suggestController")?.cancelSuggestWidget();
    this.editor.updateOptions({ tabFocusMode: true });
    this.on.escape();
  }

  captureTab() { this.editor?.updateOptions({ tabFocusMode: false }); }

  mark(problems) {
    const { MarkerSeverity } = this.monaco;
    const markers = problems.map(({ line, column, endLine, endColumn, isError, message }) => {
      const startLineNumber = Math.min(Math.max(line, 1), this.model.getLineCount());
      const widest = this.model.getLineMaxColumn(startLineNumber);
      const startColumn = Math.min(Math.max(column, 1), Math.max(widest - 1, 1));
      const word = this.model.getWordAtPosition({ lineNumber: startLineNumber, column: startColumn });
      return { startLineNumber, startColumn, message, severity: isError ? MarkerSeverity.Error : MarkerSeverity.Warning,
        endLineNumber: endLine ?? startLineNumber, endColumn: endColumn ?? word?.endColumn ?? Math.max(widest, startColumn + 1) };
    });
    this.monaco.editor.setModelMarkers(this.model, "lab", markers);
  }

  reveal(line, column = 1) {
    const lineNumber = Math.min(Math.max(line, 1), this.model.getLineCount());
    this.editor.setPosition({ lineNumber, column });
    this.editor.revealLineInCenter(lineNumber);
    this.editor.focus();
  }

  undo() { this.editor.trigger("lab", "undo"); this.editor.focus(); }
  redo() { this.editor.trigger("lab", "redo"); this.editor.focus(); }
  find() { this.editor.focus(); this.editor.getAction("actions.find").run(); }
  focus() { this.editor.focus(); }

  suggest(model, at) {
    const word = model.getWordUntilPosition(at);
    const before = model.getLineContent(at.lineNumber).slice(0, word.startColumn - 1);
    const range = { startLineNumber: at.lineNumber, endLineNumber: at.lineNumber, startColumn: word.startColumn, endColumn: word.endColumn };
    const kinds = this.monaco.languages.CompletionItemKind;
    return { suggestions: this.words(before).map(({ name, kind, detail, about }, place) => ({
      label: name, insertText: name, detail, documentation: about, range, kind: kinds[kind] ?? kinds.Variable, sortText: String(place).padStart(4, "0"),
    })) };
  }

  explain(model, at) {
    const word = model.getWordAtPosition(at);
    if (!word) return null;
    const before = model.getLineContent(at.lineNumber).slice(0, word.startColumn - 1);
    const found = this.words(before).find(({ name, detail, about }) => name === word.word && (detail || about));
    if (!found) return null;
    const lines = [found.detail, found.about].filter(Boolean).map((value) => ({ value: value.replace(/[\\`*_{}[\]()#+\-.!|<>&]/g, "\\$&") }));
    return { contents: lines, range: new this.monaco.Range(at.lineNumber, word.startColumn, at.lineNumber, word.endColumn) };
  }

  close() {
    this.shown?.dispose();
    // Delayed: a diff that is still being computed would fail without its model.
    const other = this.other;
    if (other) setTimeout(() => other.dispose(), 10000);
    this.shown = this.other = undefined;
  }

  // Closes the editor and returns the state for the next editor of this element.
  end() {
    this.listening.dispose();
    editors.delete(this.model.uri.toString());
    this.close();
    return this.model;
  }
}
