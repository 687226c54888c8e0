// The table of past runs. The server sends the rows; keyboard navigation, selection and folding happen here.
const MENU_WIDTH = 220;
const MENU_ITEM = 44;
const MAX_COMPARED = 20;
const BETWEEN_DOWNLOADS_MS = 400;

export default {
  template: `
    <div class="lab-history" :aria-busy="busy">
      <div class="lab-history-bar" :class="{ 'is-on': picked.length }" role="toolbar" aria-label="Selected runs">
        <template v-if="picked.length">
          <span class="lab-name" role="status">{{ picked.length }} selected</span>
          <a v-if="compared.length > 1" class="lab-button lab-compact lab-link lab-primary" :href="comparison">Compare</a>
          <button type="button" class="lab-tool" @click="download(picked)">Download</button>
          <button v-for="one in offered" :key="one.action" type="button" class="lab-tool" :class="{ 'is-danger': one.action === 'delete' }" @click="act(one.action, picked)">{{ one.name }}</button>
          <button type="button" class="lab-tool" @click="clear">Clear selection</button>
        </template>
        <span v-else class="lab-small" role="status">{{ counted }}</span>
      </div>
      <div class="lab-table-box">
      <table class="lab-table lab-run-table" role="treegrid" aria-label="Runs" aria-multiselectable="true" :aria-rowcount="entryCount">
        <thead><tr>
          <th class="is-check"><label class="lab-tick"><input type="checkbox" :checked="allPicked" :indeterminate.prop="picked.length > 0 && !allPicked" aria-label="Select all on this page" @change="pickAll"></label></th>
          <th v-for="column in columns" :key="column.key" :class="{ 'is-number': column.number }" :aria-sort="sorted(column)">
            <button v-if="column.sort" type="button" class="lab-sort lab-label" @click="sortBy(column)">{{ column.title }}<i aria-hidden="true">{{ arrow(column) }}</i></button>
            <span v-else class="lab-label">{{ column.title }}</span>
          </th>
          <th class="is-menu"><span class="lab-unseen">Actions</span></th>
        </tr></thead>
        <tbody ref="body" @keydown="onKey">
          <tr v-for="(row, index) in visibleRows" :key="row.key" :data-key="row.key" role="row" :tabindex="row.key === current ? 0 : -1"
              :aria-level="row.level" :aria-selected="isPicked(row)" :aria-expanded="row.members.length ? unfolded.has(row.id) : null"
              :class="{ 'is-picked': isPicked(row), 'is-seed': row.level === 2, 'is-archived': row.archived }"
              @focusin="current = row.key" @click="onClick($event, row, index)">
            <td class="is-check" role="gridcell"><label class="lab-tick"><input type="checkbox" :tabindex="tabIndex(row)" :checked="isPicked(row)" :aria-label="'Select ' + row.name" @click.stop="tick($event, row, index)"></label></td>
            <td class="is-status" role="gridcell"><span class="lab-badge" :class="row.tone" :title="row.error">{{ row.status }}</span></td>
            <td class="is-name" role="gridcell">
              <div class="lab-run-name">
                <button v-if="row.members.length" type="button" class="lab-fold" :tabindex="tabIndex(row)" :aria-label="(unfolded.has(row.id) ? 'Collapse ' : 'Expand ') + row.name" @click.stop="fold(row)">{{ unfolded.has(row.id) ? "\u25BE" : "\u25B8" }}</button>
                <a v-if="!row.members.length" class="lab-name is-link" :tabindex="tabIndex(row)" :href="'/runs/' + row.id" :title="row.name">{{ row.level === 2 ? row.short : row.name }}</a>
                <span v-else class="lab-name is-link" :title="row.name" @click.stop="fold(row)">{{ row.name }}</span>
                <span v-if="row.members.length" class="lab-badge">{{ row.members.length }} seeds</span>
                <span v-if="row.archived" class="lab-badge">archived</span>
              </div>
              <div v-if="row.tags.length || row.note || row.parent" class="lab-run-words">
                <button v-for="tag in row.tags" :key="tag" type="button" class="lab-tag" :tabindex="tabIndex(row)" :aria-label="'Only runs tagged ' + tag" @click.stop="$emit('tag', tag)">{{ tag }}</button>
                <a v-if="row.parent" class="lab-small" :tabindex="tabIndex(row)" :href="'/runs/' + row.parent" @click.stop>started from another run</a>
                <span v-if="row.note" class="lab-small lab-note" :title="row.note">{{ row.note }}</span>
              </div>
            </td>
            <td class="lab-mono" role="gridcell" data-label="Environment" :title="row.env">{{ row.env }}</td>
            <td class="lab-mono" role="gridcell" data-label="Algorithm">{{ row.algorithm }}</td>
            <td class="lab-mono is-number is-score" role="gridcell" data-label="Score">{{ row.score }}<small v-if="row.band" class="lab-band">{{ row.band }}</small><small v-if="row.kind" class="lab-band">{{ row.kind }}</small></td>
            <td class="is-curve" role="gridcell"><svg v-if="row.curve" viewBox="0 0 96 24" role="img" :aria-label="row.curve.words"><title>{{ row.curve.words }}</title><polyline v-for="(line, i) in row.curve.lines" :key="i" :points="line"/></svg></td>
            <td class="lab-mono is-number" role="gridcell" data-label="Steps">{{ row.steps }}</td>
            <td class="lab-mono is-number" role="gridcell" data-label="Time">{{ row.time }}</td>
            <td class="lab-mono" role="gridcell" data-label="Created" :title="row.created_at">{{ row.created }}</td>
            <td v-if="owners" class="lab-mono is-owner" role="gridcell" data-label="Owner" :title="row.owner">{{ row.owner }}</td>
            <td class="is-menu" role="gridcell"><button type="button" class="lab-tool" :tabindex="tabIndex(row)" :aria-label="'Actions for ' + row.name" aria-haspopup="menu" :aria-expanded="menu?.key === row.key" @click.stop="openMenu($event, row)">&#8943;</button></td>
          </tr>
        </tbody>
      </table>
      </div>
      <nav v-if="pageCount > 1" class="lab-pager" aria-label="Pages of runs">
        <button type="button" class="lab-tool" :disabled="page <= 1" @click="go(page - 1)">Previous</button>
        <label class="lab-control">Page <input type="number" class="lab-page-number" min="1" :max="pageCount" :value="page" @change="go(+$event.target.value)"> of {{ pageCount.toLocaleString("en") }}</label>
        <button type="button" class="lab-tool" :disabled="page >= pageCount" @click="go(page + 1)">Next</button>
      </nav>
      <div v-if="menu" ref="menu" class="lab-row-menu" role="menu" :aria-label="'Actions for ' + menu.name" :style="{ left: menu.x + 'px', top: menu.y + 'px' }" @keydown="onMenuKey" @focusout="onMenuLeft">
        <a v-if="menu.ids.length === 1" role="menuitem" tabindex="-1" :href="'/runs/' + menu.ids[0]">Open</a>
        <a v-if="menu.ids.length > 1" role="menuitem" tabindex="-1" :href="'/compare?runs=' + menu.ids.join(',')">Compare its seeds</a>
        <button type="button" role="menuitem" tabindex="-1" @click="download(menu.ids)">Download</button>
        <button v-for="one in menu.offered" :key="one.action" type="button" role="menuitem" tabindex="-1" :class="{ 'is-danger': one.action === 'delete' }" @click="choose(one.action)">{{ one.name }}</button>
      </div>
    </div>`,
  props: { rows: Array, columns: Array, owners: Boolean, sort: { type: String, default: "" }, page: Number,
           pageCount: { type: Number, default: 1 }, entryCount: Number, counted: String },
  data: () => ({ updates: {}, chosen: new Set(), unfolded: new Set(), current: null, anchor: null, menu: null, busy: false }),
  computed: {
    entries() { return this.rows.map((row) => this.updates[row.id] ?? row); },
    // Visible rows in order; the key of a run in a group differs from that of a single run.
    visibleRows() {
      return this.entries.flatMap((row) => {
        const seeds = this.unfolded.has(row.id) ? row.members : [];
        return [{ ...row, key: row.id, level: 1 }, ...seeds.map((seed) => ({ ...seed, key: `${row.id}/${seed.id}`, level: 2 }))];
      });
    },
    runs() { return new Map(this.entries.flatMap((row) => (row.members.length ? row.members : [row])).map((run) => [run.id, run])); },
    picked() { return [...this.runs.keys()].filter((id) => this.chosen.has(id)); },
    allPicked() { return this.picked.length > 0 && this.picked.length === this.runs.size; },
    offered() { return this.offer(this.picked); },
    // Fully selected groups are compared as groups.
    compared() {
      return this.entries.flatMap((row) => (row.members.length && this.isPicked(row) ? [`g:${row.id}`] : this.ids(row).filter((id) => this.chosen.has(id))));
    },
    comparison() { return `/compare?runs=${this.compared.slice(0, MAX_COMPARED).join(",")}`; },
  },
  watch: {
    rows() {
      this.updates = {};
      this.busy = false;
      if (!this.visibleRows.some((row) => row.key === this.current)) this.current = this.visibleRows[0]?.key ?? null;
    },
  },
  mounted() {
    this.current = this.visibleRows[0]?.key ?? null;
    this.onPop = () => this.$emit("address", location.search);
    this.onDocumentKey = (event) => {
      // A click outside focuses one of the elements around the table.
      const isNowhere = document.activeElement?.contains(this.$el) ?? true;
      const isSearching = document.activeElement?.matches("input[data-search]") && event.key === "ArrowDown";
      if (event.key === "Escape" && isNowhere) this.clear();
      if (!["ArrowDown", "ArrowUp"].includes(event.key) || !(isNowhere || isSearching) || !this.current) return;
      event.preventDefault();
      this.focus(this.current);
    };
    addEventListener("popstate", this.onPop);
    addEventListener("keydown", this.onDocumentKey);
    addEventListener("scroll", this.closeMenu, true);
    addEventListener("pointerdown", this.onElsewhere);
  },
  beforeUnmount() {
    removeEventListener("popstate", this.onPop);
    removeEventListener("keydown", this.onDocumentKey);
    removeEventListener("scroll", this.closeMenu, true);
    removeEventListener("pointerdown", this.onElsewhere);
  },
  methods: {
    // Called by the server with entries whose numbers have changed.
    refresh(entries) { for (const row of entries) this.updates[row.id] = row; },
    clear() { this.chosen = new Set(); this.anchor = null; },

    ids(row) { return row.members.length ? row.members.map((seed) => seed.id) : [row.id]; },
    tabIndex(row) { return row.key === this.current ? 0 : -1; },
    isPicked(row) { return this.ids(row).every((id) => this.chosen.has(id)); },
    pick(row, on) {
      for (const id of this.ids(row)) on ? this.chosen.add(id) : this.chosen.delete(id);
      this.anchor = row.key;
    },
    pickRange(index) {
      const from = this.visibleRows.findIndex((row) => row.key === this.anchor);
      const anchor = this.anchor;
      const [first, last] = from < 0 ? [index, index] : [Math.min(from, index), Math.max(from, index)];
      for (const row of this.visibleRows.slice(first, last + 1)) this.pick(row, true);
      this.anchor = from < 0 ? this.visibleRows[index].key : anchor;
    },
    pickAll() {
      const on = !this.allPicked;
      for (const row of this.entries) for (const id of this.ids(row)) on ? this.chosen.add(id) : this.chosen.delete(id);
    },
    tick(event, row, index) {
      if (event.shiftKey) this.pickRange(index); else this.pick(row, !this.isPicked(row));
    },
    onClick(event, row, index) {
      if (event.target.closest("a, button, label")) return;
      if (event.shiftKey) { getSelection().removeAllRanges(); this.pickRange(index); }
      else if (event.ctrlKey || event.metaKey) this.pick(row, !this.isPicked(row));
      this.focus(row.key);
    },
    fold(row) { this.unfolded.has(row.id) ? this.unfolded.delete(row.id) : this.unfolded.add(row.id); },
    async focus(key) {
      this.current = key;
      await this.$nextTick();
      this.$refs.body?.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
    },

    onKey(event) {
      if (event.altKey || event.target.closest("[role=menu]")) return;
      const index = this.visibleRows.findIndex((row) => row.key === this.current);
      const row = this.visibleRows[index];
      const isRow = event.target.matches("tr");
      if (!row || (!isRow && ["Enter", " "].includes(event.key))) return;
      if (this.keys(event, row, index)) event.preventDefault();
    },
    // Returns whether the key was handled.
    keys(event, row, index) {
      const moves = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: this.visibleRows.length - 1 };
      if (event.key in moves) return this.move(moves[event.key], event.shiftKey, index);
      switch (event.key) {
        case " ": event.shiftKey ? this.pickRange(index) : this.pick(row, !this.isPicked(row)); return true;
        case "Enter": row.members.length ? this.fold(row) : this.open(row, event); return true;
        case "ArrowRight": return this.unfold(row, index);
        case "ArrowLeft": return this.foldUp(row);
        case "Delete": this.act("delete", this.picked.length ? this.picked : this.ids(row)); return true;
        case "Escape": this.clear(); return true;
        case "a": if (!event.ctrlKey && !event.metaKey) return false; this.pickAll(); return true;
      }
      return false;
    },
    move(to, extends_, from) {
      const index = Math.max(0, Math.min(this.visibleRows.length - 1, to));
      if (extends_) {
        if (this.anchor === null) this.pick(this.visibleRows[from], true);
        this.pickRange(index);
      }
      this.focus(this.visibleRows[index].key);
      return true;
    },
    open(row, event) {
      if (event.ctrlKey || event.metaKey) open(`/runs/${row.id}`); else location.href = `/runs/${row.id}`;
    },
    unfold(row, index) {
      if (!row.members.length) return false;
      if (this.unfolded.has(row.id)) this.focus(this.visibleRows[index + 1].key); else this.fold(row);
      return true;
    },
    foldUp(row) {
      if (row.level === 2) this.focus(row.key.split("/")[0]);
      else if (this.unfolded.has(row.id)) this.fold(row);
      else return false;
      return true;
    },

    // The actions that the user may apply to these runs.
    offer(ids) {
      const runs = ids.map((id) => this.runs.get(id)).filter(Boolean);
      const mine = runs.length > 0 && runs.every((run) => run.changes);
      const one = runs.length === 1;
      return [
        mine && one && { action: "rename", name: "Rename" },
        mine && { action: "tag", name: "Tags" },
        mine && { action: "note", name: "Note" },
        mine && runs.some((run) => !run.archived) && { action: "archive", name: "Archive" },
        mine && runs.some((run) => run.archived) && { action: "unarchive", name: "Restore" },
        one && runs[0].shares && { action: "share", name: "Share" },
        mine && { action: "delete", name: "Delete" },
      ].filter(Boolean);
    },
    act(action, ids) {
      if (this.offer(ids).some((one) => one.action === action)) this.$emit("act", { action, ids });
    },
    // One bundle per run; browsers ask once before they download several files.
    async download(ids) {
      this.closeMenu();
      for (const id of ids) {
        const link = document.createElement("a");
        link.href = `/api/runs/${id}/artifacts/bundle.zip`;
        link.download = "";
        link.click();
        await new Promise((done) => setTimeout(done, BETWEEN_DOWNLOADS_MS));
      }
    },
    sortBy(column) {
      const descending = this.sort.replace("-", "") === column.sort ? !this.sort.startsWith("-") : column.descending;
      this.busy = true;
      this.$emit("sort", (descending ? "-" : "") + column.sort);
    },
    sorted(column) {
      if (this.sort.replace("-", "") !== column.sort) return null;
      return this.sort.startsWith("-") ? "descending" : "ascending";
    },
    arrow(column) { return { ascending: " \u2191", descending: " \u2193" }[this.sorted(column)] ?? ""; },
    go(page) {
      if (!Number.isInteger(page) || page < 1 || page > this.pageCount || page === this.page) return;
      this.busy = true;
      this.$emit("page", page);
    },

    async openMenu(event, row) {
      const key = row.key;
      if (this.menu?.key === key) { this.closeMenu(); return; }
      const ids = this.ids(row);
      const offered = this.offer(ids);
      const box = event.currentTarget.getBoundingClientRect();
      const height = (offered.length + 2) * MENU_ITEM;
      const x = Math.max(8, Math.min(box.right - MENU_WIDTH, innerWidth - MENU_WIDTH - 8));
      const y = box.bottom + height > innerHeight ? Math.max(8, box.top - height) : box.bottom;
      this.current = key;
      this.menu = { key, name: row.name, ids, offered, x, y, button: event.currentTarget };
      await this.$nextTick();
      this.$refs.menu?.querySelector("[role=menuitem]")?.focus();
    },
    closeMenu() { this.menu = null; },
    choose(action) {
      const { ids, button } = this.menu;
      this.closeMenu();
      button.focus();
      this.act(action, ids);
    },
    onElsewhere(event) { if (this.menu && !event.target.closest?.("[role=menu], [aria-haspopup=menu]")) this.closeMenu(); },
    onMenuLeft(event) { if (event.relatedTarget && !event.currentTarget.contains(event.relatedTarget)) this.closeMenu(); },
    onMenuKey(event) {
      const items = [...this.$refs.menu.querySelectorAll("[role=menuitem]")];
      const at = items.indexOf(document.activeElement);
      const moves = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 };
      if (event.key in moves) items[moves[event.key] % items.length].focus();
      else if (event.key === "Escape" || event.key === "Tab") { const { button } = this.menu; this.closeMenu(); button.focus(); }
      else return;
      event.preventDefault();
    },
  },
};
