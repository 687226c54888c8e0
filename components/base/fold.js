// An expansion that renders its content when it is first opened.
export default {
  template: `
    <q-expansion-item ref="qRef" @before-show="wasOpened = true">
      <div class="nicegui-expansion-content"><slot v-if="wasOpened || $attrs['model-value']" /></div>
    </q-expansion-item>`,
  data: () => ({ wasOpened: false }),
};
