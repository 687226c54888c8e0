// What every page does without the server: Explain, copy buttons, keyboard shortcuts, connection indicator.
(() => {
  const root = document.documentElement;
  const YEAR_S = 31536000;
  const LOST_AFTER_MS = 1200; // leaving a page closes its connection, too
  const RECONNECTED_FOR_MS = 4000;
  const SECOND_KEY_WITHIN_MS = 1200;

  // Explain: a class of the document shows or hides the sentences next to numbers.
  const explains = () => root.classList.contains("is-explaining");
  function explain(on) {
    root.classList.toggle("is-explaining", on);
    document.cookie = `explain=${on ? "on" : "off"}; path=/; samesite=strict; max-age=${YEAR_S}`;
    showExplain();
  }
  function showExplain() {
    for (const button of document.querySelectorAll("[data-explain]")) button.setAttribute("aria-pressed", explains());
  }
  if (/(^|; )explain=on/.test(document.cookie)) root.classList.add("is-explaining");

  // Copy: the clipboard requires https or localhost; elsewhere the text is only selected.
  async function copy(button) {
    const source = button.parentElement.querySelector("[data-copied]");
    getSelection().selectAllChildren(source);
    const done = await navigator.clipboard?.writeText(source.innerText).then(() => true, () => false);
    const label = button.firstElementChild ?? button;
    label.textContent = done ? "Copied" : "Selected: press Ctrl+C";
    setTimeout(() => { label.textContent = "Copy"; }, 2000);
  }

  addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-explain], [data-copy], [data-help]");
    if (!button) return;
    if ("explain" in button.dataset) explain(!explains());
    if ("copy" in button.dataset) copy(button);
    if ("help" in button.dataset) help();
  });

  // Keys: each presses a visible button, so that it never does what couldn't be clicked.
  const PRESSED = { " ": ["Pause", "Resume"], t: ["Train"], e: ["Test"] };
  const PAGES = { h: "/", t: "/train", r: "/runs", c: "/compare" };
  const TYPING = "input, textarea, select, [contenteditable=true], [role=combobox], [role=listbox], [data-takes-keys]";
  const ACTS_ON_SPACE = "button, a, summary, [role=button], [role=radio], [role=checkbox], [role=tab], video";
  let gPressedAt = -Infinity; // never: 0 is when the page was opened

  const isSeen = (element) => element.checkVisibility?.({ visibilityProperty: true }) ?? !!element.offsetParent;
  function find(names) {
    const buttons = [...document.querySelectorAll("main button")].filter(isSeen);
    return buttons.find((button) => names.some((name) => button.innerText.trim().toLowerCase() === name.toLowerCase()));
  }
  function help() {
    const dialog = document.querySelector("dialog.lab-help");
    if (dialog && !dialog.open) dialog.showModal();
  }
  function search() {
    const field = [...document.querySelectorAll("main input[data-search], main input[aria-label^=Search]")].find(isSeen);
    field?.focus();
    return !!field;
  }
  // Returns whether the key was handled.
  function press(key, target) {
    const afterG = performance.now() - gPressedAt < SECOND_KEY_WITHIN_MS;
    gPressedAt = key === "g" ? performance.now() : -Infinity;
    if (afterG && PAGES[key]) { location.href = PAGES[key]; return true; }
    if (key === "?") { help(); return true; }
    if (key === "/") return search();
    if (key === " " && target.closest?.(ACTS_ON_SPACE)) return false;
    const button = PRESSED[key] && find(PRESSED[key]);
    if (!button || button.disabled || button.classList.contains("disabled")) return false;
    button.click();
    return true;
  }
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.(TYPING) || document.querySelector("dialog[open], .q-dialog")) return;
    if (localStorage.getItem("keys") === "off") return;
    if (press(event.key, event.target)) event.preventDefault();
  });

  // The connection: NiceGUI shows a loss in its own popup, which theme.css hides.
  function watchConnection() {
    const popup = document.getElementById("popup");
    let waiting = null;
    const show = (state) => {
      root.dataset.connection = state;
      const line = document.querySelector(".lab-connection-text");
      if (line) line.textContent = { lost: "Connection lost, reconnecting", back: "Reconnected" }[state] ?? "Connected";
    };
    const showReconnected = () => {
      sessionStorage.removeItem("lost");
      show("back");
      setTimeout(() => { if (root.dataset.connection === "back") show("on"); }, RECONNECTED_FOR_MS);
    };
    new MutationObserver(() => {
      clearTimeout(waiting);
      if (popup.ariaHidden === "false") {
        waiting = setTimeout(() => { sessionStorage.setItem("lost", "yes"); show("lost"); }, LOST_AFTER_MS);
      } else if (root.dataset.connection === "lost") showReconnected();
    }).observe(popup, { attributes: true, attributeFilter: ["aria-hidden"] });
    // The page was reloaded, after a restart of the server.
    if (sessionStorage.getItem("lost")) showReconnected(); else show("on");
  }

  addEventListener("load", function start() {
    if (!document.querySelector(".lab-header")) { setTimeout(start, 50); return; }
    showExplain();
    watchConnection();
    const keys = document.querySelector(".lab-help [data-keys]");
    if (keys) {
      keys.checked = localStorage.getItem("keys") !== "off";
      keys.addEventListener("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"));
    }
  });
})();
