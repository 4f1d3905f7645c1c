// What the menu "Save" of a widget does: its picture as it stands there, a link to it, code to embed
// it. Loaded when a reader first opens such a menu.

const SHARPNESS = 2; // pixels of a PNG for one of the page
const FROM = 24; // px, for the line that says where a picture comes from
const LEFT_OUT = ".widget-controls, .widget-save, .fallback, [hidden]";
const [SVG, XHTML] = ["http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"];

/**
 * Fills the menu of a widget: `card` is its place on the page, `root` its element, `label` its name;
 * `pictures` has more to save, by name: () → {file, svg}, the text of an SVG.
 */
export function fillMenu(menu, {card, root, label, pictures}) {
  const status = element("p", {role: "status"});
  const act = (text, action) => {
    const button = element("button", {type: "button"}, text);
    button.addEventListener("click", async () => {
      try {
        status.textContent = (await action()) ?? "Saved.";
      } catch {
        status.textContent = "That didn’t work in this browser.";
      }
    });
    return button;
  };
  const copy = async (text) => {
    await navigator.clipboard.writeText(text);
    return "Copied.";
  };
  menu.replaceChildren(
    ...Object.entries({
      Picture: async () => ({file: `attention-${card.id}`, svg: text(await picture(card, root))}),
      ...pictures,
    }).flatMap(([name, drawn]) => [
      act(`${name}, PNG`, () => savePng(drawn())),
      act(`${name}, SVG`, () => saveSvg(drawn())),
    ]),
    ...(navigator.clipboard
      ? [
          act("Copy link", () => copy(linkTo(card))),
          act("Copy code to embed", () => copy(embedCode(card, label))),
        ]
      : []),
    status,
  );
}

const element = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

/** The address of the page at this widget, with all that was chosen. */
export function linkTo(card) {
  const url = new URL(location.href);
  url.searchParams.delete("embed");
  url.hash = card.id;
  return url.href;
}

/** An <iframe> of this widget alone, as it is now. */
export function embedCode(card, label) {
  const url = new URL(linkTo(card));
  url.hash = "";
  url.searchParams.set("embed", card.id);
  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;");
  return `<iframe src="${escaped(url.href)}" title="${escaped(label)}" width="100%" height="${Math.ceil(card.offsetHeight) + 48}" style="border: 0" loading="lazy"></iframe>`;
}

/**
 * An <svg> that holds the widget without its controls, its caption with the badge, and where it comes
 * from: the page's own elements and style sheets, so a browser shows in it what the page shows.
 */
export async function picture(card, root) {
  const parts = [root, ...card.querySelectorAll(".widget-caption")];
  const controls = [...card.querySelectorAll(".widget-controls")];
  const gone = controls.reduce((sum, one) => sum + one.getBoundingClientRect().height, 0);
  const width = Math.ceil(card.getBoundingClientRect().width);
  const height =
    Math.ceil(
      parts.at(-1).getBoundingClientRect().bottom - card.getBoundingClientRect().top - gone,
    ) +
    FROM +
    16;
  const place = xhtml("div", {
    class: card.className,
    id: card.id,
    style: "border: 0; border-radius: 0; box-sizing: border-box; margin: 0; min-height: 100%",
  });
  place.append(
    ...parts.map(copyOf),
    xhtml("p", {style: "font-size: 11px; margin: 0.6rem 0 0; opacity: 0.8"}, document.title),
  );
  const main = xhtml(
    "main",
    {class: "content", style: "display: block; margin: 0; max-width: none; padding: 0"},
    place,
  );
  const body = xhtml(
    "body",
    {class: document.body.className, style: `margin: 0; width: ${width}px`},
    main,
  );
  const svg = document.createElementNS(SVG, "svg");
  const frame = document.createElementNS(SVG, "foreignObject");
  const [{fontSize}, {backgroundColor}] = [
    getComputedStyle(document.documentElement),
    getComputedStyle(card),
  ];
  const state = {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    style: `background: ${backgroundColor}; font-size: ${fontSize}`,
  };
  for (const [name, value] of Object.entries(state)) svg.setAttribute(name, String(value));
  for (const [name, value] of Object.entries({width, height}))
    frame.setAttribute(name, String(value));
  frame.append(
    xhtml("html", {lang: document.documentElement.lang}, xhtml("style", {}, await styles()), body),
  );
  svg.append(frame);
  return svg;
}

function xhtml(tag, attributes, ...children) {
  const made = document.createElementNS(XHTML, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A copy that keeps what only properties hold: what is typed, ticked, chosen or painted. */
function copyOf(part) {
  const copy = part.cloneNode(true);
  const [from, to] = [part, copy].map((root) => [
    ...root.querySelectorAll("input, textarea, option, canvas"),
  ]);
  from.forEach((one, i) => {
    if (one instanceof HTMLCanvasElement) {
      to[i].replaceWith(
        xhtml("img", {
          src: one.toDataURL(),
          class: one.className,
          style: one.style.cssText,
          width: one.clientWidth,
          height: one.clientHeight,
        }),
      );
    } else if (one instanceof HTMLTextAreaElement) to[i].textContent = one.value;
    else if (one instanceof HTMLOptionElement) to[i].toggleAttribute("selected", one.selected);
    else {
      to[i].setAttribute("value", one.value);
      to[i].toggleAttribute("checked", one.checked);
    }
  });
  copy.querySelectorAll(LEFT_OUT).forEach((one) => one.remove());
  return copy;
}

/** The page's style sheets as they were written: what browsers write of their rules loses some. */
async function styles() {
  const sheets = [...document.styleSheets].map(async ({href, ownerNode}) =>
    href ? (await fetch(href)).text() : ownerNode.textContent,
  );
  return (await Promise.all(sheets)).join("\n").replace(/@font-face\s*\{[^}]*\}/g, "");
}

const text = (svg) => new XMLSerializer().serializeToString(svg);

async function saveSvg(drawn) {
  const {file, svg} = await drawn;
  download(new Blob([svg], {type: "image/svg+xml"}), `${file}.svg`);
}

async function savePng(drawn) {
  const {file, svg} = await drawn;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * SHARPNESS;
  canvas.height = image.naturalHeight * SHARPNESS;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("no picture");
  download(blob, `${file}.png`);
}

function download(blob, name) {
  const link = element("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
