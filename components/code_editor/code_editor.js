// Code editor with highlighting, underlined problems, completion, formatting, undo, search, diff and full screen.
// Monaco on wide screens, CodeMirror on narrow ones; each is loaded when an editor is shown.
const SMALL = "(max-width: 640px)";
const CHECK_AFTER_MS = 250; // without typing, after which the server checks the code
const MAX_LENGTH = 65536; // characters
const KEYWORDS = ("and as assert break class continue def elif else except finally for from if import in is lambda not or pass raise return try"
  + " while with yield True False None abs all any bool dict enumerate float int isinstance len list max min pow range round set sorted str sum"
  + " tuple zip").split(" ").map((name) => ({ name, kind: "Keyword", of: "" }));
const OWNER = /([A-Za-z_]\w*)\.$/;
const savedStates = new Map(); // by element id: the state that a closed editor is reopened with

export default {
  template: `
    <div class="lab-code" :class="{ 'is-full': isFull }" data-takes-keys @keydown.escape="escaped" @keyup.escape.stop>
      <div class="lab-code-bar" role="toolbar" :aria-label="label">
        <template v-if="!readOnly">
          <button type="button" class="lab-tool" :disabled="!isReady" @click="editor.undo()">Undo</button>
          <button type="button" class="lab-tool" :disabled="!isReady" @click="editor.redo()">Redo</button>
          <button type="button" class="lab-tool" :disabled="!isReady || isFormatting" @click="format">Format</button>
          <button type="button" class="lab-tool" v-if="saves" :disabled="!isReady" @click="save">Save</button>
        </template>
        <button type="button" class="lab-tool" :disabled="!isReady" @click="editor.find()">Find</button>
        <button type="button" class="lab-tool" :disabled="!isReady" :aria-pressed="isFull" @click="isFull = !isFull">Full screen</button>
        <span class="lab-code-status" role="status">{{ status }}</span>
      </div>
      <p v-if="against" class="lab-code-note">Compared with {{ against.name }}</p>
      <div ref="place" class="lab-code-place" :aria-busy="!isReady" @focusout="left"></div>
      <p v-if="failure" class="lab-error" role="alert">{{ failure }}</p>
      <ol v-if="problems.length" class="lab-code-problems" aria-label="Problems">
        <li v-for="problem in problems"><button type="button" :class="{ 'is-error': problem.isError }" @click="jump(problem)">
          <span class="lab-mono">Line {{ problem.line }}</span> {{ problem.message }}</button></li>
      </ol>
    </div>`,
  props: { text: String, label: String, words: Array, problems: Array, checked: Number, readOnly: Boolean, saves: Boolean, checks: Boolean,
    against: Object, reveal: Object, written: Object, message: Object, hasMonaco: Boolean },
  data: () => ({ isFull: false, isReady: false, isFormatting: false, tabLeaves: false, failure: "", note: "", revision: 0 }),
  computed: {
    status() {
      if (!this.isReady) return this.failure ? "" : "Opening the editor";
      if (this.tabLeaves) return "Tab leaves the editor now";
      if (this.note) return this.note;
      if (!this.checks) return "";
      if (this.checked !== this.revision) return "Checking";
      const count = this.problems.length;
      return count ? `${count} ${count === 1 ? "problem" : "problems"}` : "No problems";
    },
  },
  watch: {
    problems() { this.mark(); },
    words(words) { this.known = [...words, ...KEYWORDS]; },
    against() { this.compare(); },
    reveal() { this.go(); },
    written() { this.write(); },
    message() { this.write(); this.onMessage(); }, // in this order: writing clears the message
    readOnly() { this.reopen(); },
  },
  async mounted() {
    this.known = [...this.words, ...KEYWORDS];
    this.done = { written: savedStates.get(this.id())?.written ?? this.written?.number ?? 0, reveal: 0, message: this.message?.number ?? 0 };
    await this.open();
  },
  beforeUnmount() { this.flush(); this.isGone = true; this.end(); },
  methods: {
    id() { return this.$el.id; },
    async open() {
      try {
        const name = this.hasMonaco && !matchMedia(SMALL).matches ? "code_editor_monaco" : "code_editor_mirror";
        const [{ Editor }] = await Promise.all([import(name), this.settle()]);
        if (this.isGone) return;
        const before = savedStates.get(this.id());
        const editor = await Editor.open(this.$refs.place, {
          text: before?.text ?? this.text, label: this.label, readOnly: this.readOnly, words: (text) => this.named(text),
          saved: before?.by === name ? before.state : undefined,
          on: { change: () => this.changed(), save: () => this.save(), format: () => this.format(),
            escape: () => { if (this.tabLeaves) this.isFull = false; this.tabLeaves = true; } },
        });
        if (this.isGone) { editor.end(); return; }
        this.by = name;
        this.editor = editor;
      } catch (error) {
        this.failure = "The editor could not be loaded. Reload the page to try again.";
        console.error(error);
        return;
      }
      this.isReady = true;
      this.sent = this.editor.text;
      this.write();
      this.mark();
      if (this.against) this.compare();
      this.go();
      // The reopened text may differ from the one checked last.
      this.send("typed");
    },
    // An editor created while its dialog is still animating measures a size of 0, and Chromium stops drawing frames.
    async settle() {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const animations = document.getAnimations().filter(({ effect }) => effect?.target?.contains(this.$el));
      await Promise.allSettled(animations.map((animation) => animation.finished));
    },
    end() {
      if (!this.editor) return;
      const text = this.editor.text;
      savedStates.set(this.id(), { by: this.by, text, state: this.editor.end(), written: this.done.written });
      this.editor = undefined;
    },
    async reopen() {
      if (!this.editor) return;
      this.isReady = false;
      this.end();
      await this.open();
    },
    // Completions for the text before the cursor: attributes after a dot, else names.
    named(before) {
      const owner = before.match(OWNER)?.[1];
      if (before.endsWith(".") && !owner) return [];
      return this.known.filter((word) => word.of === (owner ?? ""));
    },
    changed() {
      this.tabLeaves = false;
      this.note = "";
      this.revision += 1;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.flush(), CHECK_AFTER_MS);
    },
    // A button pressed next must apply to the text on screen.
    left() { this.tabLeaves = false; this.flush(); },
    flush() {
      clearTimeout(this.waiting);
      if (this.editor && this.editor.text !== this.sent) this.send("typed");
    },
    send(event) {
      const text = this.editor.text;
      if (text.length > MAX_LENGTH) { this.note = `Too long: at most ${MAX_LENGTH / 1024} KiB`; return false; }
      this.sent = text;
      this.$emit(event, { text, revision: this.revision });
      return true;
    },
    save() { clearTimeout(this.waiting); if (this.saves) this.send("save"); },
    format() { clearTimeout(this.waiting); this.isFormatting = this.send("format"); },
    mark() { if (this.editor && this.checked === this.revision) this.editor.mark(this.problems); },
    compare() { if (this.editor) { this.editor.compare(this.against?.text ?? null); this.mark(); } },
    jump({ line, column }) { this.editor?.reveal(line, column); },
    // Each request has a number, so that it is carried out once, even if it came before the editor had loaded.
    go() {
      if (!this.editor || !this.reveal || this.reveal.number <= this.done.reveal) return;
      this.done.reveal = this.reveal.number;
      this.editor.reveal(this.reveal.line);
    },
    write() {
      if (!this.editor || !this.written || this.written.number <= this.done.written) return;
      this.done.written = this.written.number;
      // Discard a formatted text if the user has typed since.
      if (this.written.of !== null && this.written.of !== this.revision) return;
      if (this.editor.text !== this.written.text) this.editor.text = this.written.text;
      this.flush();
    },
    onMessage() {
      if (!this.message || this.message.number <= this.done.message) return;
      this.done.message = this.message.number;
      this.isFormatting = false;
      this.note = this.message.text;
    },
    escaped(event) {
      if (event.defaultPrevented || event.target.closest(".lab-code-place")) { event.stopPropagation(); return; }
      if (this.isFull) { this.isFull = false; event.stopPropagation(); }
    },
  },
};
