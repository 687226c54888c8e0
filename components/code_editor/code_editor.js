// Code with highlighting, underlined problems, completion, formatting, undo, search, comparison and full screen.
// Monaco does the work on wide screens, CodeMirror on narrow ones; both are loaded when an editor is shown.
const SMALL = "(max-width: 640px)";
const PAUSE_MS = 250; // in the typing, after which the lab looks at the code
const LONGEST = 65536; // characters
const KEYWORDS = ("and as assert break class continue def elif else except finally for from if import in is lambda not or pass raise return try"
  + " while with yield True False None abs all any bool dict enumerate float int isinstance len list max min pow range round set sorted str sum"
  + " tuple zip").split(" ").map((name) => ({ name, kind: "Keyword", of: "" }));
const OWNER = /([A-Za-z_]\w*)\.$/;
const kept = new Map(); // by element: what a closed editor goes on with when it is shown again

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
        <span class="lab-code-said" role="status">{{ said }}</span>
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
    against: Object, wanted: Object, written: Object, told: Object, hasMonaco: Boolean },
  data: () => ({ isFull: false, isReady: false, isFormatting: false, isLeaving: false, failure: "", note: "", turn: 0 }),
  computed: {
    said() {
      if (!this.isReady) return this.failure ? "" : "Opening the editor";
      if (this.isLeaving) return "Tab leaves the editor now";
      if (this.note) return this.note;
      if (!this.checks) return "";
      if (this.checked !== this.turn) return "Checking";
      const count = this.problems.length;
      return count ? `${count} ${count === 1 ? "problem" : "problems"}` : "No problems";
    },
  },
  watch: {
    problems() { this.mark(); },
    words(words) { this.known = [...words, ...KEYWORDS]; },
    against() { this.compare(); },
    wanted() { this.go(); },
    written() { this.write(); },
    told() { this.write(); this.hear(); }, // in this order: typing ends what was said
    readOnly() { this.reopen(); },
  },
  async mounted() {
    this.known = [...this.words, ...KEYWORDS];
    this.follow = { written: kept.get(this.id())?.written ?? this.written?.turn ?? 0, wanted: 0, told: this.told?.turn ?? 0 };
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
        const before = kept.get(this.id());
        const editor = await Editor.open(this.$refs.place, {
          text: before?.text ?? this.text, label: this.label, readOnly: this.readOnly, words: (text) => this.named(text),
          kept: before?.by === name ? before.state : undefined,
          on: { change: () => this.changed(), save: () => this.save(), format: () => this.format(),
            escape: () => { if (this.isLeaving) this.isFull = false; this.isLeaving = true; } },
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
      // Somebody may have opened another text than the one that was looked at last.
      this.tell("typed");
    },
    // An editor that is made while a dialog grows around it measures nothing, and Chromium draws no frame any more.
    async settle() {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const around = document.getAnimations().filter(({ effect }) => effect?.target?.contains(this.$el));
      await Promise.allSettled(around.map((animation) => animation.finished));
    },
    end() {
      if (!this.editor) return;
      const text = this.editor.text;
      kept.set(this.id(), { by: this.by, text, state: this.editor.end(), written: this.follow.written });
      this.editor = undefined;
    },
    async reopen() {
      if (!this.editor) return;
      this.isReady = false;
      this.end();
      await this.open();
    },
    // What may follow the text before the cursor: parts of something after a dot, else names.
    named(before) {
      const owner = before.match(OWNER)?.[1];
      if (before.endsWith(".") && !owner) return [];
      return this.known.filter((word) => word.of === (owner ?? ""));
    },
    changed() {
      this.isLeaving = false;
      this.note = "";
      this.turn += 1;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.flush(), PAUSE_MS);
    },
    // Whoever presses a button next means the text as it is on screen.
    left() { this.isLeaving = false; this.flush(); },
    flush() {
      clearTimeout(this.waiting);
      if (this.editor && this.editor.text !== this.sent) this.tell("typed");
    },
    tell(what) {
      const text = this.editor.text;
      if (text.length > LONGEST) { this.note = `Too long: at most ${LONGEST / 1024} KiB`; return false; }
      this.sent = text;
      this.$emit(what, { text, turn: this.turn });
      return true;
    },
    save() { clearTimeout(this.waiting); if (this.saves) this.tell("save"); },
    format() { clearTimeout(this.waiting); this.isFormatting = this.tell("format"); },
    mark() { if (this.editor && this.checked === this.turn) this.editor.mark(this.problems); },
    compare() { if (this.editor) { this.editor.compare(this.against?.text ?? null); this.mark(); } },
    jump({ line, column }) { this.editor?.reveal(line, column); },
    // Each of these comes with a number, so that it is followed once, also when it came before the editor was there.
    go() {
      if (!this.editor || !this.wanted || this.wanted.turn <= this.follow.wanted) return;
      this.follow.wanted = this.wanted.turn;
      this.editor.reveal(this.wanted.line);
    },
    write() {
      if (!this.editor || !this.written || this.written.turn <= this.follow.written) return;
      this.follow.written = this.written.turn;
      // A layout of what was typed on in the meantime is of no use.
      if (this.written.of !== null && this.written.of !== this.turn) return;
      if (this.editor.text !== this.written.text) this.editor.text = this.written.text;
      this.flush();
    },
    hear() {
      if (!this.told || this.told.turn <= this.follow.told) return;
      this.follow.told = this.told.turn;
      this.isFormatting = false;
      this.note = this.told.text;
    },
    escaped(event) {
      if (event.defaultPrevented || event.target.closest(".lab-code-place")) { event.stopPropagation(); return; }
      if (this.isFull) { this.isFull = false; event.stopPropagation(); }
    },
  },
};
