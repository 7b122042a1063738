// Colour scheme: follows the system unless one was chosen here. Runs before the page is drawn.
(() => {
  const KEY = "plimsoll-theme";
  const root = document.documentElement;
  const stored = () => { try { return localStorage.getItem(KEY) || ""; } catch { return ""; } };
  const apply = (value) => { if (value) root.dataset.theme = value; else delete root.dataset.theme; };
  apply(stored());
  addEventListener("DOMContentLoaded", () => {
    const buttons = document.querySelectorAll("[data-set-theme]");
    const show = (value) => buttons.forEach((button) =>
      button.setAttribute("aria-pressed", String(button.dataset.setTheme === value)));
    show(stored());
    buttons.forEach((button) => button.addEventListener("click", () => {
      const value = button.dataset.setTheme;
      try { localStorage.setItem(KEY, value); } catch { /* private mode: this visit only */ }
      apply(value);
      show(value);
    }));
  });
})();
