// What a reader has answered, kept in this browser alone: {lesson: {total, done: {id: answer}}}.

const KEY = "course-answers";
let memory = null; // where the browser keeps nothing, answers hold until the page is left

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function load() {
  if (memory) return memory;
  let text;
  try {
    text = localStorage.getItem(KEY);
  } catch {
    return {};
  }
  try {
    const read = JSON.parse(text);
    const sound = ([, {total, done}]) => Number.isInteger(total) && isRecord(done);
    return isRecord(read)
      ? Object.fromEntries(Object.entries(read).filter((one) => isRecord(one[1]) && sound(one)))
      : {};
  } catch {
    return {}; // damaged: as if none
  }
}

function save(all) {
  memory = null;
  try {
    if (Object.keys(all).length) localStorage.setItem(KEY, JSON.stringify(all));
    else localStorage.removeItem(KEY);
  } catch {
    memory = all; // not allowed, or full
  }
  answers.dispatchEvent(new Event("change"));
}

/** The lesson that an address leads to, by its folder's name, or any other page, by its name. */
export const lessonOf = (address) => {
  const [, lesson, page] =
    /\/modules\/([^/]+)\/|\/(\w+)\.html$/.exec(new URL(address, document.baseURI).pathname) ?? [];
  return lesson ?? page;
};

/** Tells "change" whenever an answer is given or taken back, in another tab too. */
export const answers = Object.assign(new EventTarget(), {
  all: load,
  get: (lesson, id) => load()[lesson]?.done[id],
  /** `undefined` takes an answer back; `total` is how many the lesson asks for. */
  set(lesson, id, answer, total) {
    const {[lesson]: {done} = {done: {}}, ...others} = load();
    const {[id]: _, ...rest} = done;
    save({
      ...others,
      [lesson]: {total, done: answer === undefined ? rest : {...rest, [id]: answer}},
    });
  },
  clear: () => save({}),
});

addEventListener("storage", ({key}) => {
  if (key === KEY || key === null) answers.dispatchEvent(new Event("change"));
});
