// What every page does by itself, without asking the server: explain, copy, keys, the connection.
(() => {
  const root = document.documentElement;
  const YEAR_S = 31536000;
  const LOST_AFTER_MS = 1200; // a page that is left loses its connection, too
  const BACK_FOR_MS = 4000;
  const SECOND_KEY_WITHIN_MS = 1200;

  // Explain: sentences beside numbers, shown or hidden by one class of the document.
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

  // Copy: the clipboard needs https or this machine; elsewhere the text is selected instead.
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

  // Keys: each presses a button that is on the page, so that nothing works that couldn't be clicked.
  const PRESSED = { " ": ["Pause", "Resume"], t: ["Train"], e: ["Test"] };
  const PAGES = { h: "/", t: "/train", r: "/runs", c: "/compare" };
  const TYPING = "input, textarea, select, [contenteditable=true], [role=combobox], [role=listbox], [data-takes-keys]";
  const ACTS_ON_SPACE = "button, a, summary, [role=button], [role=radio], [role=checkbox], [role=tab], video";
  let gone = 0; // when "g" was pressed

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
  // Returns whether the key meant something here.
  function press(key, target) {
    const afterG = performance.now() - gone < SECOND_KEY_WITHIN_MS;
    gone = key === "g" ? performance.now() : 0;
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

  // The connection: NiceGUI says when it is lost, in an element of its own that isn't shown.
  function watchConnection() {
    const popup = document.getElementById("popup");
    let waiting = null;
    const say = (state) => {
      root.dataset.connection = state;
      const line = document.querySelector(".lab-connection-text");
      if (line) line.textContent = { lost: "Connection lost, trying again", back: "Connected again" }[state] ?? "Connected";
    };
    const isBack = () => {
      sessionStorage.removeItem("lost");
      say("back");
      setTimeout(() => { if (root.dataset.connection === "back") say("on"); }, BACK_FOR_MS);
    };
    new MutationObserver(() => {
      clearTimeout(waiting);
      if (popup.ariaHidden === "false") {
        waiting = setTimeout(() => { sessionStorage.setItem("lost", "yes"); say("lost"); }, LOST_AFTER_MS);
      } else if (root.dataset.connection === "lost") isBack();
    }).observe(popup, { attributes: true, attributeFilter: ["aria-hidden"] });
    // After a restart of the server the page was loaded anew.
    if (sessionStorage.getItem("lost")) isBack(); else say("on");
  }

  addEventListener("load", function begin() {
    if (!document.querySelector(".lab-header")) { setTimeout(begin, 50); return; }
    showExplain();
    watchConnection();
    const keys = document.querySelector(".lab-help [data-keys]");
    if (keys) {
      keys.checked = localStorage.getItem("keys") !== "off";
      keys.addEventListener("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"));
    }
  });
})();
