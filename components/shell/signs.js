// The few icons of fields and expanders as SVG paths; Quasar's icon font is 130 kB.
(() => {
  const OUTLINES = {
    arrow_drop_down: "M6 10h12l-6 6z",
    keyboard_arrow_down: "M12 15.5 5.5 9 7 7.5l5 5 5-5L18.5 9z",
    cancel: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm4.9 13.5-1.4 1.4-3.5-3.5-3.5 3.5-1.4-1.4 3.5-3.5-3.5-3.5 1.4-1.4 3.5 3.5 3.5-3.5 1.4 1.4-3.5 3.5z",
    error: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm1 15h-2v-2h2zm0-4h-2V7h2z",
  };
  Quasar.IconSet.iconMapFn = (name) => (name in OUTLINES ? { icon: OUTLINES[name] } : undefined);
})();
