// A text that changes often. The server calls only `show`: an element update would re-render the whole page.
export default {
  template: `<div>{{ shown }}</div>`,
  props: { text: String },
  data() { return { shown: this.text }; },
  methods: { show(text) { this.shown = text; } },
};
