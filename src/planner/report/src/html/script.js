(() => {
  "use strict";
  const root = document.documentElement;
  const show = selector => document.querySelectorAll(selector).forEach(e => { e.hidden = false; });
  show(".theme"); show(".acts");
  const keys = document.querySelectorAll(".theme button");
  const set = value => {
    if (value) root.dataset.theme = value; else delete root.dataset.theme;
    keys.forEach(key => key.setAttribute("aria-pressed", String(key.dataset.set === value)));
  };
  keys.forEach(key => key.addEventListener("click", () => set(key.dataset.set)));
  if (/^#(light|dark)$/.test(location.hash)) set(location.hash.slice(1));

  // A figure outside the page: its table as text, or its drawing with light colours put in.
  const cells = table => [...table.rows].map(row => [...row.cells].map(cell => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(".vh").forEach(e => e.remove());
    return copy.textContent.replace(/\u00a0/g, " ").trim();
  }));
  const safe = text => /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  const csv = rows => rows.map(row => row.map(safe)
    .map(text => /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text).join(",")).join("\r\n");
  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const standalone = figure => {
    const narrow = getComputedStyle(figure.querySelector(".wide")).display === "none";
    const svg = figure.querySelector(narrow ? ".narrow > svg" : ".wide > svg").cloneNode(true);
    const sheet = [...document.styleSheets[0].cssRules];
    const light = {};
    for (const rule of sheet) if (rule.selectorText === ":root") for (const name of rule.style) {
      const value = rule.style.getPropertyValue(name);
      const pair = value.match(/light-dark\(\s*([^,]+),/);
      if (name.startsWith("--")) light[name] = (pair ? pair[1] : value).trim();
    }
    const literal = text => text.replace(/var\((--[a-z0-9-]+)\)/g, (all, name) => light[name] || all);
    const style = sheet.filter(rule => rule.selectorText && /(^|, )svg /.test(rule.selectorText))
      .map(rule => literal(rule.cssText)).join("\n").replace(/svg \./g, ".").replace(/svg text/g, "text");
    const [, , width, height] = svg.getAttribute("viewBox").split(" ");
    // A margin, so that the drawing does not touch the edge of wherever it is put.
    const box = { x: -12, y: -8, width: Number(width) + 24, height: Number(height) + 16 };
    svg.setAttribute("viewBox", Object.values(box).join(" "));
    svg.setAttribute("width", box.width); svg.setAttribute("height", box.height);
    const defs = document.querySelector("defs").cloneNode(true);
    defs.innerHTML = literal(defs.innerHTML);
    const sheetElement = document.createElementNS("http://www.w3.org/2000/svg", "style");
    sheetElement.textContent = style;
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ ...box, fill: light["--paper"] })) paper.setAttribute(name, value);
    svg.prepend(sheetElement, defs, paper);
    return new XMLSerializer().serializeToString(svg);
  };
  document.querySelectorAll(".acts button").forEach(button => button.addEventListener("click", async () => {
    const figure = button.closest("figure");
    const name = "plimsoll-" + figure.querySelector("figcaption b").textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/-$/, "");
    const rows = cells(figure.querySelector(".fig-foot table"));
    if (button.dataset.act === "svg") save(name + ".svg", "image/svg+xml", standalone(figure));
    if (button.dataset.act === "csv") save(name + ".csv", "text/csv", csv(rows));
    if (button.dataset.act === "copy") {
      const origin = figure.querySelector("metadata").textContent;
      await navigator.clipboard.writeText(rows.map(row => row.join("\t")).join("\n") + "\n" + origin);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    }
  }));
})();
