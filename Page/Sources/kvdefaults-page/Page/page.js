// Makes a form of the published type, keeps it as the store is, and sends each edit by itself. Values are JSON as
// kvdefaults writes it: {"$date": …}, {"$data": …}, {"$uid": …} and {"$real": …} are scalars.

const page = crypto.randomUUID();
const keys = new Map(); // what the server told of each key: revision, value, own, unset, parts, hidden
const find = (id) => document.getElementById(id);
let types, root, typeNumber, newID, isReadOnly, isOffline, isOver, lastId = 0, lastRevision = 0, fault = "";

// ---- Exact JSON: a number that JavaScript would write otherwise keeps its text

const parse = (text) => JSON.parse(text, (_, value, { source }) =>
  typeof value === "number" && source !== String(value) ? JSON.rawJSON(source) : value);
const write = JSON.stringify;
// A value that a person gives as JSON.
const readJSON = (text) => JSON.parse(text, (_, value, { source }) => {
  if (typeof value !== "number") return value;
  if (!Number.isFinite(value)) throw Error(`${source} is too large for a number`);
  const isWhole = /^-?\d+$/.test(source);
  if (isWhole && (BigInt(source) < -(2n ** 63n) || BigInt(source) >= 2n ** 64n)) throw Error(`${source} has more than 64 bits`);
  return source === String(value) ? value : JSON.rawJSON(source);
});
const isSame = (a, b) => write(a) === write(b);
// The same value to a person: 1.0 is 1.
const isEqual = (a, b) => isSame(...[a, b].map((value) => write(value, (_, one) =>
  JSON.isRawJSON(one) ? JSON.rawJSON(one.rawJSON.replace(/\.0$/, "")) : one)));
const isNumber = (value) => typeof value === "number" || JSON.isRawJSON(value);
// The shortest text that is the same number of 32 bits.
const single = (value) => [1, 2, 3, 4, 5, 6, 7, 8, 9].map((digits) => String(Number(value.toPrecision(digits))))
  .find((text) => Math.fround(Number(text)) === value);
const numberText = (value, type) => (type?.isSingle && single(Number(write(value)))) || write(value).replace(/\.0$/, "");

// The entries of a dictionary; none for any other value. A lone key with a dollar sign has one more in JSON.
function entries(value) {
  if (!value || typeof value !== "object" || Array.isArray(value) || JSON.isRawJSON(value)) return undefined;
  const [first, ...rest] = Object.entries(value);
  if (!first || rest.length || first[0][0] !== "$") return first ? [first, ...rest] : [];
  return first[0][1] === "$" ? [[first[0].slice(1), first[1]]] : undefined;
}

// The key of a dictionary's entry, as a step of all paths that lead into it: they follow it where it gets another name.
class Key {
  constructor(name) { this.name = name; }
  toJSON() { return this.name; }
  toString() { return this.name; }
}

// Of each dictionary the entries by their keys: a row of a long table asks for its own.
const maps = new WeakMap();
function child(value, step) {
  if (Array.isArray(value)) return value[step];
  const all = maps.get(value) ?? entries(value);
  if (Array.isArray(all)) maps.set(value, new Map(all));
  return maps.get(value)?.get(`${step}`);
}
// The value at a path: of "value", which counts, or of "own", which the user has set.
const get = (path, layer = "value") => path.slice(1).reduce(child, keys.get(path[0])?.[layer]);
// The revision that an edit is based on: of a key that the server has not told, or not any more, the last one told.
const revision = (path) => keys.get(path[0])?.revision ?? lastRevision;
// Whether the value of an edit is there: an entry of a dictionary itself, or the value that holds the element or field.
const isThere = (path) => path.length === 1 || keys.get(path[0])?.hidden !== undefined
  || get(path.at(-1) instanceof Key ? path : path.slice(0, -1)) !== undefined;


// Other layers' values: parts, each with its path; those that count have the file that they are from.
const partsOf = (path) => keys.get(path[0])?.parts ?? [];
const leads = (outer, path) => outer.length <= path.length && outer.every((step, index) => step === `${path[index]}`);
const partAround = (path) => partsOf(path).find((one) => one.file && leads(one.path, path));
const isLocked = (path) => partAround(path)?.layer === "managed";
// The value that a reset gives: an administrator's default, or that of the global domain, before that of the type.
const standard = (path, member) => partsOf(path).find((one) =>
  one.layer !== "managed" && one.path.length === path.length && leads(one.path, path))?.value ?? member.default;
// Whether the user has taken away a value of lower layers there.
const hasUnset = (path) => keys.get(path[0])?.unset?.some((one) => leads(path.map(String), one)) === true;

const sources = {
  managed: ["The administrator has set it, in", "The administrator has set a part of it, in"],
  administrator: ["It is the administrator's default, in", "A part of it is the administrator's default, in"],
  global: ["It is from the global domain,", "A part of it is from the global domain,"],
};

// Where a value is from, unless the setting around it says so: of a table or a value as JSON, also of its entries.
function sourceOf(path, hasEntries) {
  const around = partAround(path);
  if (around) return path.length > 1 && partAround(path.slice(0, -1)) ? "" : `${sources[around.layer][0]} ${around.file}.`;
  const inside = partsOf(path).filter((one) => hasEntries && one.file && leads(path.map(String), one.path));
  return [...new Set(inside.map(({ layer, file }) => `${sources[layer][1]} ${file}.`))].join(" ");
}

// ---- Elements and words

function make(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name in node && name !== "list") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter(Boolean));
  return node;
}

const button = (text, label, onclick, className = "") =>
  make("button", { type: "button", "aria-label": label, title: label, onclick, className }, text);
const say = (text) => { find("status").textContent = text; };
const firstIn = (node) => node?.querySelector("input, select, textarea, button");
const pathText = (path) => path.map((step, index) => typeof step === "number" ? `[${step}]`
  : (index ? "." : "") + (/^[^.[\]"\\\s]+$/.test(step) ? step : write(step))).join("");

// A value in few words.
function brief(value, type) {
  const text = value === undefined ? "not set" : value === true ? "on" : value === false ? "off"
    : value === "" ? "empty" : typeof value === "string" ? value : localDate(value)?.replace("T", " ") ?? numberText(value, type);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

const epoch = 978307200; // The beginning of 2001 in UTC, from which dates are counted.
function instant(value) {
  const text = value?.$date;
  return new Date(isNumber(text) ? (Number(write(text)) + epoch) * 1000 : text);
}

// A date as its control has it, in local time; undefined for what it cannot show.
function localDate(value) {
  const date = instant(value);
  const local = new Date(date - date.getTimezoneOffset() * 60000);
  return local.getFullYear() > 0 && local.getFullYear() < 10000 ? local.toISOString().slice(0, 19) : undefined;
}

const resolved = (type) => (type.type ? types[type.type] : type);

// Whether the control of a type can show a value.
const fits = {
  switch: (type, value) => typeof value === "boolean",
  number: (type, value) => isNumber(value),
  // A browser's controls make a line break of each carriage return.
  text: (type, value) => typeof value === "string" && !value.includes("\r") || type.inputMode === "decimal" && isNumber(value),
  date: (type, value) => localDate(value) !== undefined,
  data: (type, value) => typeof value.$data === "string",
  choice: (type, value) => type.cases.some((one) => isSame(one.value, value)),
  list: (type, value) => Array.isArray(value),
  table: (type, value) => entries(value) !== undefined,
  struct: (type, value) => entries(value) !== undefined,
  variant: (type, value) => type.cases.some((one) => entries(value)?.length === 1 && child(value, one.name)),
  json: () => true,
};

// ---- Edits, one after the other

let line = Promise.resolve(), unanswered = 0;

function send(operation, path, more) {
  const edit = { page, base: revision(path), ...more, operation, path };
  const wasThere = isThere(path);
  unanswered += 1;
  // A page out of sight has no connection, and makes its last edits all the same.
  if (!events && !isOver) connect();
  line = line.then(async () => {
    // A value that the page itself has removed meanwhile is no conflict to the server: the edit would bring it back.
    if (wasThere && !isThere(path)) return { message: "Not saved: it is not there any more." };
    // The names in the path are those that they have now.
    const body = write(edit);
    try {
      const late = new Promise((done) => setTimeout(done, 5000));
      if (!await Promise.race([proven.promise, late])) throw Error();
      const response = await fetch("edit", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      const text = await response.text();
      const answer = text[0] === "{" ? parse(text) : { message: text };
      take(answer.keys ?? {});
      return { ...answer, isGood: response.ok, revision: answer.keys?.[path[0]].revision, isConflict: response.status === 409 };
    } catch {
      return { message: "Not saved: the program behind this page cannot be reached." };
    }
  }).finally(() => {
    unanswered -= 1;
    if (document.hidden && !unanswered) disconnect();
  });
  return line;
}

// ---- Texts that are typed, and not saved

let isRefreshing = false; // An input that is taken away says that it has changed: it is not to be saved.
// Inputs; for each the path of the setting that it is in, what takes the text back, and the revision that it is based on.
const typed = new Map();

const nameOf = (input) => input.ariaLabel ?? input.title;
const pathOf = (input) => input.closest("[id^=at-]").id.slice(3);
function isTyped(input, discard, base) {
  if (!typed.has(input)) typed.set(input, { path: pathOf(input), discard, base });
}

const typedIn = (node) => [...typed].filter(([input]) => node.contains(input)).map(([, { discard }]) => discard);

// Shows a text at the foot of the page, so that it can be copied. A secret is told of alone.
function keepText(input, path, reason, typedText = input.value) {
  const name = `${nameOf(input)} (${path})`;
  const text = input.type !== "password" && make("textarea", {
    value: typedText, readOnly: true, rows: Math.min(typedText.split("\n").length, 6), "aria-label": `What you typed in ${name}`,
    onfocus: ({ target }) => target.select(),
  });
  const note = make("div", { className: "note" }, make("p", {}, `What you typed in ${name} is not saved: ${reason}.`),
    text, button("Dismiss", `Dismiss what you typed in ${name}`, () => note.remove()));
  find("lost").append(note);
  return note;
}

// Shows the texts whose input is gone, or locked, by a change of another program.
function keepTexts() {
  for (const [input, { path, discard }] of typed) {
    const isLocked = input.isConnected && input.closest(".locked");
    if (input.isConnected && !isLocked) continue;
    typed.delete(input);
    if (input.value === "") continue;
    keepText(input, path, isLocked ? "the administrator has set it now" : "it is not there any more");
    if (isLocked) discard();
  }
}

find("settings").addEventListener("input", ({ target }) => {
  if (!target.matches("textarea, input:not([type=range], [type=checkbox])")) return;
  isTyped(target, () => {
    target.value = target.defaultValue;
    typed.delete(target);
  });
});

// ---- Controls: a node, what shows the store's value in it, and the settings inside

// An input in which a person types: what others change meanwhile does not take the text away.
function field(owner, path, { input, show, read, others = [] }) {
  let base, seen, shown, saving = 0, isDirty = false, isStale = false, isBack = false;
  const isDate = input.type === "datetime-local";
  const begin = (from = revision(path)) => {
    if (!isDirty) base = from;
    isDirty = true;
    isTyped(input, done, () => base);
  };
  const done = () => {
    isDirty = isStale = false;
    if (input.validity.badInput) input.value = "";
    typed.delete(input);
    owner.note(input);
    // The setting of a value that is too large to be here shows its control for what is typed alone.
    if (keys.get(path[0])?.hidden) refreshAll([path[0]]);
    else refresh();
  };
  const useMine = () => {
    base = revision(path);
    isStale = false;
    return save();
  };
  const refresh = () => {
    const value = get(path);
    // A date some parts of which are typed has no text yet, and has not told of any.
    if (input.validity.badInput) begin();
    if (!isDirty) {
      show(value);
      shown = input.value;
      input.removeAttribute("aria-invalid");
    } else if (!isSame(value, seen) && !saving) {
      isStale = true;
      owner.conflict(input, path, undefined, useMine, done);
    }
    seen = value;
  };
  const save = async () => {
    if (isRefreshing) return undefined;
    const text = input.value;
    let good = isBack = false;
    try {
      const value = read();
      if (value === undefined || !isDirty) return done();
      if (!input.isConnected) return undefined;
      if (isStale) return owner.conflict(input, path, value, useMine, done);
      saving += 1;
      good = await owner.edit(input, "set", path, { value, base }, done, useMine);
      saving -= 1;
    } catch (error) {
      owner.note(input, error.message);
    }
    if (!good) input.setAttribute("aria-invalid", "true");
    else if (input.value === text) done();
    else [base, shown] = [good.revision, text];
  };
  for (const one of [input, ...others]) {
    one.addEventListener("input", ({ detail }) => {
      // A text of a form that was here before is based on what was seen there.
      begin(detail || revision(path));
      isBack = detail > 0 && input.className !== "json";
    });
    one.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (isDirty || input.validity.badInput)) done();
      if (event.key === "Enter" && isDate && isDirty) save();
    });
    // A date changes with each of its parts: it is saved as a whole. Nothing changes where a text is typed and taken back,
    // and nothing is left where the window alone is. What the page has brought back is no change to the browser.
    one.addEventListener("blur", () => {
      if (document.activeElement === one) return;
      if (input.validity.badInput) begin();
      if (isDirty && input.value === shown && !saving && !input.validity.badInput) done();
      else if (isDirty && (isDate || isBack)) save();
    });
    if (input.className !== "json" && !isDate) one.addEventListener("change", save);
  }
  return { refresh, save };
}

// The seconds since 2001 of a local date; what was not changed of the old one stays: its fraction, and which of two equal hours it
// is in.
function readDate(text, old) {
  const shown = localDate(old);
  const change = Date.parse(`${text}Z`) - Date.parse(`${shown}Z`);
  const moved = shown && new Date(instant(old).getTime() + change);
  if (!moved || !localDate({ $date: moved.toISOString() })?.startsWith(text)) return new Date(text) / 1000 - epoch;
  // A fraction may be finer than the milliseconds of JavaScript's dates.
  return isNumber(old.$date) ? Number(write(old.$date)) + change / 1000 : moved / 1000 - epoch;
}

// The value of a text; undefined where an empty one means none.
function readText(type, text, old) {
  if (text === "" && (old === undefined || type.control === "date" || type.inputMode !== "text")) return undefined;
  if (type.control === "date") {
    const seconds = readDate(text, old);
    if (Number.isNaN(seconds)) throw Error("Expected a date, with a year of four digits.");
    return { $date: Number.isInteger(seconds) ? instant({ $date: seconds }).toISOString().replace(".000Z", "Z") : seconds };
  }
  return type.control === "data" ? { $data: text } : text;
}

function readNumber(text, isReal) {
  if (text.trim() === "") return undefined;
  if (isReal && Number.isFinite(Number(text))) {
    if (Number(text) === 0 && /[1-9]/.test(text.split(/e/i)[0])) throw Error("It is too near to 0: it would be kept as 0.");
    return Number(text);
  }
  if (!/^[-+]?\d+$/.test(text.trim())) throw Error(`Expected a ${isReal ? "" : "whole "}number.`);
  const number = BigInt(text.trim().replace("+", ""));
  if (number < -(2n ** 63n) || number >= 2n ** 64n) throw Error(`${number} has more than 64 bits.`);
  return JSON.rawJSON(number.toString());
}

// What a second click or Enter asks for, while the answer to the first is due, waits for it, knows that it has waited, and is not
// done where the first was not.
function oneAtATime(act) {
  let last = Promise.resolve(), due = 0;
  return (text) => {
    const hasWaited = due > 0;
    due += 1;
    return (last = last.then((isGood) => hasWaited && !isGood ? isGood : act(hasWaited, text)).finally(() => { due -= 1; }));
  };
}

// A value to begin with, with UUIDs of its own.
const begun = (value) => value && parse(write(value).replaceAll(newID, () => crypto.randomUUID().toUpperCase()));

function empty(input) {
  input.value = "";
  typed.delete(input);
}

// Takes a text out of its input, and gives it to what saves it: what is typed on is another text. One that is not saved is in the
// input again, or at the foot of the page where more is typed by then.
const refused = new WeakMap(); // inputs; for each the notes of its texts at the foot
async function deliver(input, act) {
  const text = input.value;
  const path = pathOf(input);
  const notes = refused.get(input) ?? new Map();
  refused.set(input, notes);
  notes.get(text)?.remove();
  if (text !== "" && input.value === text) empty(input);
  if (await act(text) || text === "") return;
  if (input.value === "") {
    input.value = text;
    typed.set(input, { path, discard: () => empty(input) });
    keepTexts();
  } else if (input.value !== text) {
    notes.set(text, keepText(input, path, "it was refused, and more is typed there now", text));
  }
}

// Gives what comes next the focus, unless the person has moved it meanwhile from where an action began: what is typed elsewhere
// must not go there.
function follow(next, ...from) {
  if (from.includes(document.activeElement) || document.activeElement.tabIndex < 0) next?.focus();
}

const isLongText = (type, path) => type.isLong || get(path)?.includes?.("\n") === true;

function text(owner, path, type, labels) {
  const isLong = isLongText(type, path);
  const input = isLong ? make("textarea", { ...labels, rows: 4 }) : make("input", {
    ...labels, type: type.control === "date" ? "datetime-local" : "text", step: 1, autocomplete: "off",
    inputMode: type.inputMode ?? "text",
  });
  if (!isLong) oneLine(owner, input);
  const show = (value) => {
    input.value = value === undefined ? "" : localDate(value) ?? value.$data ?? (isNumber(value) ? numberText(value) : value);
    input.placeholder = value === undefined ? "not set" : "";
  };
  const read = () => {
    if (input.validity.badInput) throw Error("Expected all parts of the date.");
    return readText(type, input.value, get(path));
  };
  return { node: input, ...field(owner, path, { input, show, read }) };
}

function number(owner, path, type, labels) {
  const bounds = { min: type.min ?? "", max: type.max ?? "" };
  const input = make("input", { ...labels, ...bounds, type: "number", step: type.isReal ? "any" : 1, autocomplete: "off" });
  const slider = type.step === undefined ? null : make("input", {
    type: "range", ...bounds, max: type.isBelow ? type.max - type.step : type.max, step: type.step, "aria-label": `${labels.title}, slider`,
    oninput: () => { input.value = slider.value; },
  });
  const show = (value) => {
    const text = value === undefined ? "" : numberText(value, type);
    // A browser's stepper rounds long numbers.
    input.type = type.isReal || text.length < 16 ? "number" : "text";
    input.value = text;
    input.placeholder = value === undefined ? "not set" : "";
    if (slider) slider.value = input.value || type.min;
  };
  const read = () => readNumber(input.validity.badInput ? "x" : input.value, type.isReal);
  const node = slider ? make("div", { className: "slider" }, slider, input) : input;
  return { node, ...field(owner, path, { input, show, read, others: slider ? [slider] : [] }) };
}

// Refuses a text of several lines, which a browser would make one of without a word.
function oneLine(owner, input, is = () => true) {
  for (const name of ["paste", "drop", "beforeinput"]) {
    input.addEventListener(name, (event) => {
      const text = event.data ?? (event.clipboardData ?? event.dataTransfer)?.getData("text") ?? "";
      if (!is() || !/[\r\n]/.test(text.trim())) return;
      event.preventDefault();
      owner.note(input, "It has several lines, and would lose them here: set it by kvdefaults set.");
    });
  }
}

function secret(owner, path, type, labels) {
  const input = make("input", { ...labels, type: "password", autocomplete: "new-password" });
  const show = (value) => {
    input.value = "";
    // What is in a case that is a secret is hidden as a whole.
    const isSet = value !== undefined || typeof get(path.slice(0, -1)) === "string";
    input.placeholder = isSet ? "set, and hidden" : "not set";
  };
  const isText = type.inputMode || type.control === "data" || typeof type.cases?.[0].value === "string";
  oneLine(owner, input, () => isText);
  const read = () => {
    if (input.value === "") return undefined;
    if (isText) return readText(type, input.value, "");
    try {
      return readJSON(input.value);
    } catch {
      throw Error("Expected the value as JSON.");
    }
  };
  return { node: input, ...field(owner, path, { input, show, read }) };
}

// What shows the store's value in a control that saves at once, but not while an answer is due: the next key goes on from what
// the person has chosen.
function atOnce(show) {
  let due = 0;
  const refresh = () => { if (!due) show(); };
  const save = async (edit) => {
    due += 1;
    await edit;
    due -= 1;
    refresh();
  };
  return { refresh, save };
}

function onOff(owner, path, type, labels) {
  const { refresh, save } = atOnce(() => { input.checked = get(path); });
  const input = make("input", {
    ...labels, type: "checkbox", role: "switch",
    onchange: () => save(owner.edit(input, "set", path, { value: input.checked }, refresh)),
  });
  return { node: input, refresh };
}

// A choice of cases, with one for none where there may be none.
function choice(owner, path, type, labels, { optional, current, value, leave = () => {} }) {
  const { refresh, save } = atOnce(() => {
    const index = current();
    const none = index < 0 || optional ? [make("option", { value: -1 }, "Not set")] : [];
    select.replaceChildren(...none, ...type.cases.map((one, number) => make("option", { value: number }, one.title)));
    select.value = index;
  });
  const select = make("select", {
    ...labels,
    onchange: () => {
      const one = type.cases[select.value];
      leave(type.cases[current()]);
      save(owner.edit(select, one ? "set" : "reset", path, one ? { value: value(one) } : {}, refresh));
    },
  });
  return { node: select, refresh };
}

const scalarChoice = (owner, path, type, labels, optional) => choice(owner, path, type, labels, {
  optional, current: () => type.cases.findIndex((one) => isSame(one.value, get(path))), value: (one) => one.value,
});

// Any value as JSON, which is saved by a button.
function json(owner, path, type, labels) {
  const input = make("textarea", { ...labels, spellcheck: false, className: "json" });
  let last, text;
  const show = (value) => {
    if (text === input.value && value === last) return; // It may be long, and others change often.
    last = value;
    input.value = value === undefined ? "" : JSON.stringify(value, null, 2);
    text = input.value;
    input.rows = Math.min(text.split("\n").length + 1, 16);
  };
  const read = () => {
    try {
      return readJSON(input.value);
    } catch (error) {
      throw Error(`Expected JSON: ${error.message}`);
    }
  };
  const { refresh, save } = field(owner, path, { input, show, read });
  return { node: make("div", { className: "stack" }, input, button("Save", `Save ${labels.title}`, save)), refresh };
}

function list(owner, path, type, labels) {
  const element = resolved(type.element);
  const items = [];
  const node = make("ol");
  const hasText = ["text", "date", "data", "number"].includes(element.control);
  const added = hasText && make("input", {
    type: element.control === "date" ? "datetime-local" : "text", "aria-label": `New entry of ${labels.title}`,
    placeholder: "New entry", autocomplete: "off",
    onkeydown: ({ key }) => onKey(key),
  });
  if (added) oneLine(owner, added);
  const adder = button("Add", `Add an entry to ${labels.title}`, ({ detail }) => (hasText || detail < 2) && add());
  const onKey = (key) => {
    if (key === "Enter") add();
    if (key === "Escape") empty(added);
  };
  const add = () => hasText ? deliver(added, insert) : insert();
  const insert = oneAtATime(async (hasWaited, text) => {
    const count = items.length;
    if (text === "" && hasWaited) return true;
    if (keys.get(path[0])?.hidden) return owner.note(adder, keys.get(path[0]).hidden);
    let value = begun(element.initial);
    try {
      if (hasText) value = element.control === "number" ? readNumber(text, element.isReal) : readText(element, text, "");
    } catch (error) {
      return owner.note(adder, error.message);
    }
    if (value === undefined) return added.focus();
    if (!await owner.edit(adder, "insert", [...path, count], { value }, undefined, null)) return undefined;
    follow(hasText ? added : firstIn(items[count]?.node), adder);
    return true;
  });
  // What is typed belongs to an element: none may move under it.
  const isSaved = async () => {
    await line;
    await new Promise((done) => setTimeout(done)); // What is saved has its text taken off the list by then.
    if (!typedIn(node).length) return true;
    owner.note(node, `What is typed in ${labels.title} is not saved. Save or discard it first.`, [
      ["Discard", () => {
        typedIn(node).forEach((discard) => discard());
        owner.note(node);
      }]]);
    return false;
  };
  // An edit of an element by its index, one at a time: the second click of two would be on another element.
  let isBusy = false;
  const once = (act) => async ({ detail, currentTarget }) => {
    if (isBusy || detail > 1) return;
    isBusy = true;
    // What the person saw: others may have changed the list when what was typed is saved.
    const base = revision(path);
    if (await isSaved()) {
      node.inert = true;
      const isGood = await act(base);
      node.inert = false;
      follow(isGood ? isGood() : currentTarget, currentTarget);
    }
    isBusy = false;
  };
  const item = (index) => {
    const name = `${labels.title} ${index + 1}`;
    const elementPath = [...path, index];
    const inner = control(owner, elementPath, type.element, { title: name, "aria-label": name }, { isInList: true });
    const move = (to, word) => once(async (base) => await owner.edit(node, "move", elementPath, { target: to, base }, undefined, null) && (() => {
      const buttons = items[to];
      return buttons?.[word].disabled ? buttons.remove : buttons?.[word];
    }));
    const up = button("↑", `Move ${name} up`, move(index - 1, "up"), "icon");
    const down = button("↓", `Move ${name} down`, move(index + 1, "down"), "icon");
    const remove = button("×", `Remove ${name}`, once(async (base) => await owner.edit(node, "remove", elementPath, { base }, undefined, null) && (() =>
      (items[index] ?? items[index - 1])?.remove ?? (added || adder))), "icon");
    const isGroup = !owner.isSecret && ["list", "table", "struct", "variant"].includes(element.control);
    const holder = make("div", { className: "item", ...isGroup ? { role: "group", "aria-label": name } : {} },
      isGroup && make("p", { className: "help" }, name), inner.node);
    return { node: make("li", {}, holder, up, down, remove), up, down, remove, inner };
  };
  // Takes texts out of elements that may be others now: only those in front of the first change are where they were, and
  // a single element that has changed.
  let seen = [];
  const leave = (value) => {
    const [old, now] = [seen, value].map((one) => one.map((element) => write(element)));
    const changed = now.map((_, index) => index).filter((index) => now[index] !== old[index]);
    if (now.length === old.length && changed.length < 2) return;
    const from = now.length === old.length ? changed : [...now.keys()].slice(changed[0] ?? now.length);
    for (const index of from) {
      if (!items[index] || !typedIn(items[index].node).length) continue;
      const old = items[index].node;
      items[index] = item(index);
      old.replaceWith(items[index].node);
    }
  };
  const refresh = () => {
    const value = get(path) ?? [];
    if (typedIn(node).length) leave(value);
    seen = value;
    const count = value.length;
    while (items.length > count) items.pop().node.remove();
    while (items.length < count) node.append(items[items.push(item(items.length)) - 1].node);
    items.forEach(({ inner, up, down }, index) => {
      inner.refresh();
      up.disabled = index === 0;
      down.disabled = index + 1 === count;
    });
  };
  return { node: make("div", { className: "stack" }, node, make("div", { className: "add" }, added, adder)), refresh };
}

function table(owner, path, type, labels) {
  const rows = new Map();
  const body = make("tbody");
  body.addEventListener("focusout", () => setTimeout(() => {
    if ([...rows.values()].some((one) => one.isOld())) refresh();
  }));
  const added = make("input", {
    type: "text", "aria-label": `New key of ${labels.title}`, placeholder: "New key", autocomplete: "off", spellcheck: false,
    onkeydown: ({ key }) => onKey(key),
  });
  const onKey = (key) => {
    if (key === "Enter") add();
    if (key === "Escape") empty(added);
  };
  const add = () => deliver(added, insert);
  oneLine(owner, added);
  const adder = button("Add", `Add a key to ${labels.title}`, add);
  const insert = oneAtATime(async (hasWaited, key) => {
    if (key === "") return hasWaited || added.focus();
    if (keys.get(path[0])?.hidden) return owner.note(added, keys.get(path[0]).hidden);
    if (rows.has(key)) return owner.note(added, `There is a key ${key} already.`);
    const value = begun(resolved(type.element).initial);
    if (!await owner.edit(added, "set", [...path, key], { value }, undefined, null)) return undefined;
    if (added.value === "") follow(firstIn(rows.get(key)?.inner.node), added, adder);
    return true;
  });
  const row = (key) => {
    const step = new Key(key);
    const targets = []; // The names that the entry is to get, until it has them.
    const entryPath = [...path, step];
    let label = `${labels.title}, ${key}`;
    // An input would lose the line breaks of a key: it is shown as JSON, and has no other name here.
    const hasLines = /[\r\n]/.test(key);
    const name = make("input", {
      type: "text", defaultValue: hasLines ? write(key) : key, readOnly: hasLines, "aria-label": `Key ${key} of ${labels.title}`,
      spellcheck: false, autocomplete: "off",
      onkeydown: ({ key: pressed }) => { if (pressed === "Escape") takeBackName(); },
      onchange: () => rename(),
      // What the page has brought back is no change to the browser.
      onblur: () => { if (typed.has(name) && document.activeElement !== name) rename(); },
    });
    const rename = async () => {
      if (isRefreshing) return undefined;
      const target = name.value;
      const mine = typed.get(name);
      if (target === nameNow() || target === "") return takeBackName();
      typed.delete(name);
      targets.push(target);
      if (await owner.edit(name, "rename", entryPath, { target })) return undefined;
      targets.splice(targets.indexOf(target), 1);
      typed.set(name, mine);
      return keepTexts();
    };
    const nameNow = () => targets.at(-1) ?? step.name;
    const takeBackName = () => {
      name.value = nameNow();
      typed.delete(name);
      owner.note(name);
    };
    const inner = control(owner, entryPath, type.element, { title: label, "aria-label": label }, { isInList: true });
    const remove = button("×", `Remove ${label}`, async (event) => {
      if (event.detail < 2 && await owner.edit(remove, "remove", entryPath, {})) follow(added, remove);
    }, "icon");
    const area = make("fieldset", { role: "presentation" }, inner.node);
    const node = make("tr", {}, ...[name, area, remove].map((one) => make("td", {}, one)));
    const refresh = () => {
      const locked = isLocked(entryPath);
      node.classList.toggle("locked", locked);
      name.disabled = area.disabled = remove.disabled = locked;
      remove.title = locked ? sourceOf(entryPath) : `Remove ${label}`;
      inner.refresh();
    };
    const takeName = (present) => {
      const index = present.has(step.name) ? -1 : targets.findIndex((one) => present.has(one));
      if (index < 0) return;
      name.defaultValue = step.name = targets[index];
      targets.splice(0, index + 1);
      name.ariaLabel = `Key ${step.name} of ${labels.title}`;
      const old = label;
      label = `${labels.title}, ${step.name}`;
      for (const one of node.querySelectorAll("[title]")) {
        if (one.title.endsWith(old)) one.ariaLabel = one.title = one.title.replace(old, () => label);
      }
    };
    return { node, inner, refresh, takeName, isOld: () => step.name !== key, name: () => step.name };
  };
  // The row of an entry that gets another name stays, with the focus and what is typed in it; there is a new one when it is left.
  const takeNames = (present) => {
    for (const [key, one] of [...rows]) {
      one.takeName(present);
      rows.delete(key);
      if (!one.isOld() || one.node.contains(document.activeElement) || typedIn(one.node).length) rows.set(one.name(), one);
      else one.node.remove();
    }
  };
  const refresh = () => {
    const present = entries(get(path) ?? {}).map(([key]) => key);
    takeNames(new Set(present));
    same(rows, present, row, body);
    for (const one of rows.values()) one.refresh();
    head.hidden = rows.size === 0;
  };
  const head = make("thead", {}, make("tr", {}, ...["Key", "Value"].map((text) => make("th", { scope: "col" }, text)), make("td")));
  const node = make("div", { className: "stack" }, make("table", { "aria-label": labels.title }, head, body),
    make("div", { className: "add" }, added, adder));
  return { node, refresh };
}

// Has a row for each key that is present, in their order, and leaves those alone that are there.
function same(rows, present, row, body) {
  const keys = new Set(present);
  for (const [key, { node }] of rows) {
    if (keys.has(key)) continue;
    node.remove();
    rows.delete(key);
  }
  let next = body.firstChild;
  for (const key of keys) {
    if (!rows.has(key)) rows.set(key, row(key));
    const { node } = rows.get(key);
    // What has the focus would lose it by being moved: the others are moved behind it.
    while (next && next !== node && node.contains(document.activeElement)) {
      const one = next;
      next = next.nextSibling;
      body.append(one);
    }
    if (node === next) next = next.nextSibling;
    else body.insertBefore(node, next);
  }
}

// The settings of a struct, made when it is there: a type may contain itself.
function struct(owner, path, type, labels, { isInList }) {
  const node = make("div", { className: "inner" });
  const begin = button("Set", `Set ${labels.title}`, async () => {
    await owner.edit(node, "set", path, { value: begun(type.initial) });
    follow(firstIn(node), begin);
  });
  const absent = [make("p", {}, "Not set "), begin];
  let settings = null;
  const refresh = () => {
    if (get(path) === undefined) {
      settings = null;
      return node.replaceChildren(...absent);
    }
    if (!settings) {
      settings = [...type.members.map((one) => setting(one, [...path, one.key], isInList)), otherKeys(path, type.members)];
      node.replaceChildren(...settings.map((one) => one.node));
    }
    for (const one of settings) one.refresh();
  };
  return { node, refresh, children: () => settings ?? [] };
}

function variant(owner, path, type, labels, { optional }) {
  const current = () => type.cases.findIndex((one) => child(get(path), one.name) !== undefined);
  // What a case had that the person has left is there again when it is chosen again: keys go through all that are between two.
  // Not its secrets, which the page does not know; and not in a list, whose elements move.
  const left = new Map();
  const leave = (one) => {
    if (!one || path.some((step) => typeof step === "number")) return;
    const known = Object.entries(child(get(path), one.name)).filter(([, value]) => !write(value).includes('"(secret)"'));
    left.set(one, Object.fromEntries(known));
  };
  const value = (one) => ({ [one.name]: { ...begun(one.initial), ...left.get(one) } });
  const chooser = choice(owner, path, type, labels, { optional, current, value, leave });
  const holder = make("div");
  let shown = -1, inner = null;
  const refresh = () => {
    chooser.refresh();
    if (shown !== current()) {
      shown = current();
      const one = type.cases[shown];
      inner = one?.members.length ? struct(owner, [...path, one.name], one, labels, { isInList: true }) : null;
      holder.replaceChildren(...inner ? [inner.node] : []);
    }
    inner?.refresh();
  };
  return { node: make("div", { className: "stack" }, chooser.node, holder), refresh, children: () => inner?.children() ?? [] };
}

const offOn = { cases: [{ title: "Off", value: false }, { title: "On", value: true }] };
const controls = { switch: onOff, number, text, date: text, data: text, list, table, struct, variant, json };

// The control for a type; JSON where the value is not of the type.
function control(owner, path, reference, labels, member) {
  const type = resolved(reference);
  if (owner.isSecret || type.secret) return secret(owner, path, type, labels);
  const made = () => {
    if (type.control === "choice") return scalarChoice(owner, path, type, labels, member.optional);
    if (type.control === "switch" && member.optional) return scalarChoice(owner, path, offOn, labels, true);
    return controls[type.control](owner, path, type, labels, member);
  };
  const node = make("div", { className: "control" });
  let inner, isJSON, isLong;
  const refresh = () => {
    const value = get(path);
    const isOdd = value !== undefined && (value === null || !fits[type.control](type, value));
    // A line of input would lose the line breaks of a text that has come to have some.
    const growsLong = type.control === "text" && isLongText(type, path) && !isLong;
    if (isOdd !== isJSON || growsLong) {
      isJSON = isOdd;
      isLong = isLongText(type, path);
      inner = isOdd ? json(owner, path, type, labels) : made();
      node.replaceChildren(inner.node);
    }
    inner.refresh();
  };
  return { node, refresh, children: () => inner?.children?.() ?? [] };
}

// ---- Settings

// A setting with its words, its control, and what is to be said of it.
function setting(member, path, isInList = false) {
  const type = resolved(member.type);
  const name = member.title;
  const id = `s${lastId += 1}`;
  const isTop = path.length === 1;
  const isSecret = member.secret || type.secret;
  const isWide = !isSecret && ["list", "table", "struct", "variant"].includes(type.control);
  const isGroup = isWide && type.control !== "variant";
  const isStruct = isWide && type.control === "struct";
  const isSection = isTop && isStruct;
  const labels = { title: name, "aria-describedby": `${id}-help`, ...isGroup ? {} : { id } };
  const owner = { edit, note, conflict, isSecret };
  const inner = control(owner, path, member.type, labels, { optional: member.optional, isInList });
  const heading = isGroup ? make(isSection ? "h2" : "h3", { id: `${id}-name` }, name) : make("label", { htmlFor: id }, name);
  const marks = make("span", { className: "marks" });
  const source = make("p");
  const help = make("div", { className: "help", id: `${id}-help` },
    member.doc && make("p", { dir: "auto" }, member.doc),
    member.deprecated && make("p", { className: "warn" }, `Deprecated: ${member.deprecated}`),
    isSecret && make("p", {}, "A secret: it is never shown. A keyring is the better place for it."),
    source, make("p", {}, make("code", {}, pathText(path)), type.range ? ` · ${type.range}` : ""));
  const defaultText = make("span");
  const reset = button(isStruct ? `Reset ${name}` : "Reset", `Reset ${name}`, async () => {
    const before = [...typed].filter(([input]) => area.contains(input)).map(([input, { discard }]) => [input, input.value, discard]);
    if (!await edit(reset, "reset", path, {})) return;
    // What is typed since is the person's next wish.
    for (const [input, text, discard] of before) if (input.value === text) discard();
    follow(firstIn(area), reset);
  });
  const under = make("div", { className: "under" }, defaultText, reset);
  const area = make("fieldset", isGroup && !isSection ? { "aria-labelledby": `${id}-name` } : { role: "presentation" }, inner.node, under);
  const remark = make("div", { className: "note", role: "alert" });
  const words = make("div", { className: "words" }, make("div", { className: "head" }, heading, marks), help);
  const node = make(isSection ? "section" : "div", {
    className: isSection ? "card" : `setting${isWide ? " wide" : ""}`, id: `at-${pathText(path)}`,
    ...isSection ? { "aria-labelledby": `${id}-name` } : {},
  }, words, area, remark);

  // Says what is wrong with what a control has, until that is put right; with buttons for what can be done.
  const notes = new Map();
  // Not for what is gone: what was typed in it is told of at the foot of the page.
  function note(source, text, actions = [], className = "") {
    if (!source.isConnected) text = "";
    const buttons = actions.map(([word, act]) => button(word, word, act));
    // A click there does not leave the input, which would save it.
    for (const one of buttons) one.onmousedown = (event) => event.preventDefault();
    const old = notes.get(source);
    const hadFocus = old?.contains(document.activeElement);
    old?.remove();
    notes.delete(source);
    if (text) {
      notes.set(source, make("div", { className }, make("p", {}, text), ...buttons));
      remark.append(notes.get(source));
    }
    if (hadFocus) (buttons[0] ?? (source.matches("input, select, textarea, button") ? source : source.querySelector("button")))?.focus();
  }

  function conflict(source, editPath, value, again, undo) {
    const isHidden = isSecret || source.type === "password";
    const mine = value !== undefined && !isHidden ? `; yours, not saved: ${brief(value)}` : "";
    const theirs = isHidden ? "hidden" : keys.get(editPath[0])?.hidden ?? brief(get(editPath));
    // What an element or a new entry would replace is another value now: such an edit is not made again.
    const useMine = again ? [["Use mine", again]] : [];
    note(source, `Another program has changed ${source.ariaLabel ?? "this"} meanwhile. It is now: ${theirs}${mine}`, [...useMine, ["Keep theirs", () => {
      note(source);
      undo();
    }]], "conflict");
  }

  // Makes an edit and gives the answer where it was made; `undo` shows the store's value instead of the person's.
  async function edit(source, operation, editPath, more, undo = () => {}, again) {
    const answer = await send(operation, editPath, more);
    const repeat = async () => { if (await edit(source, operation, editPath, { ...more, base: revision(editPath) }, undo)) undo(); };
    if (answer.isConflict) conflict(source, editPath, more.value, again === undefined ? repeat : again, undo);
    else note(source, answer.isGood ? "" : answer.message);
    if (answer.isGood) {
      say(`${name} is saved.`);
      for (const [one, { className }] of notes) if (!typed.has(one) && !className) note(one);
    }
    return answer.isGood && answer;
  }

  // Whether the user has set a value that is too large to be here.
  const hidesOwn = () => isTop && keys.get(path[0])?.hasOwn === true;

  function isChanged() {
    const own = get(path, "own");
    // What the user has set counts nothing below what the administrator has.
    if (isLocked(path)) return false;
    return hidesOwn() || !isStruct && (hasUnset(path) || own !== undefined && !isEqual(own, standard(path, member)));
  }

  function refresh() {
    const { hidden } = keys.get(path[0]) ?? {};
    const locked = isLocked(path);
    inner.refresh();
    for (const [source] of notes) if (!node.contains(source)) note(source);
    area.disabled = locked || isTop && (isReadOnly || isOffline);
    area.classList.toggle("locked", locked);
    if (isTop) inner.node.hidden = hidden !== undefined && !typedIn(inner.node).length;
    const marksLock = locked && (isTop || !isLocked(path.slice(0, -1)));
    const shown = [[marksLock, "Locked", "warn"], [isChanged() && !isInList, "Changed", ""], [member.deprecated, "Deprecated", "warn"]];
    marks.replaceChildren(...shown.filter(([is]) => is).map(([, text, kind]) => make("span", { className: kind }, text)));
    source.textContent = hidden ?? sourceOf(path, ["table", "json"].includes(type.control));
    const isSet = get(path, "own") !== undefined || hasUnset(path) || hidesOwn();
    under.hidden = !isSet || locked || isReadOnly || isInList && !member.optional && member.default === undefined;
    const text = isWide || isSecret || standard(path, member) === undefined ? "" : `Default: ${standardText()}`;
    defaultText.textContent = text;
    reset.setAttribute("aria-label", `Reset ${name}. ${text}`);
  }

  function standardText() {
    const value = standard(path, member);
    return type.cases?.find((one) => isSame(one.value, value))?.title ?? brief(value, type);
  }
  const found = [name, pathText(path), member.doc].join("\n").toLowerCase();
  return { node, refresh, isChanged, name, path, isSection, found, children: inner.children ?? (() => []) };
}

// What the type says nothing of, as JSON.
function otherKeys(path, members) {
  const known = new Set(members.map((one) => one.key));
  const shown = new Map();
  const inside = make("div");
  const isTop = path.length === 0;
  const node = make(isTop ? "section" : "div", { className: isTop ? "card" : "setting wide" },
    make("div", { className: "words" }, make(isTop ? "h2" : "h3", {}, "Other keys"),
      make("p", { className: "help" }, "The published type says nothing of these.")), inside);
  const refresh = (only) => {
    const all = isTop ? [...keys].filter(([, one]) => one.parts) : entries(get(path)) ?? [];
    const row = (key) => setting({ key, title: key.trim() ? key : write(key), type: { control: "json" } }, [...path, key]);
    same(shown, all.map(([key]) => key).filter((key) => !known.has(key)).sort(), row, inside);
    for (const [key, one] of shown) if (!isTop || !only || only.includes(key)) one.refresh();
    node.hidden = shown.size === 0;
  };
  return { node, refresh, isChanged: () => false, found: "", isRest: true, children: () => [...shown.values()] };
}

// ---- The page

let settings = [], general;

const inputsAt = (path) => [...find(`at-${path}`)?.querySelectorAll("input, textarea") ?? []];

// Puts the texts that were typed in a form that is gone into the one that is there now; one without an input in it is kept at
// the foot of the page.
function bringBack(texts) {
  for (const [old, { path, base }, isFocused, selection] of texts) {
    const input = inputsAt(path).find((one) => nameOf(one) === nameOf(old) && one.type === old.type && !one.matches(":disabled"));
    if (!input) continue;
    const before = input.value;
    input.value = old.value;
    if (input.value !== old.value) {
      input.value = before;
      continue;
    }
    typed.delete(old);
    input.dispatchEvent(new CustomEvent("input", { bubbles: true, detail: base?.() }));
    if (isFocused) input.focus();
    if (isFocused && selection[0] !== null) input.setSelectionRange(...selection);
  }
  keepTexts();
}

// Makes the form, anew where another type is published.
function build(state) {
  isRefreshing = true;
  for (const one of find("settings").querySelectorAll(":scope > section")) one.remove();
  isRefreshing = false;
  if (root) say("The type of these settings has changed.");
  typeNumber = state.typeNumber;
  types = state.types;
  newID = state.newID;
  root = resolved(state.root);
  isReadOnly = state.readOnly;
  document.title = `${state.domain} – Settings`;
  find("domain").textContent = state.domain;
  find("about").textContent = [root.doc, isReadOnly && "They are only shown here, and not changed."].filter(Boolean).join(" ");
  settings = [...root.members.map((one) => setting(one, [one.key])), otherKeys([], root.members)];
  const sections = settings.filter((one) => one.isSection || one.isRest);
  const plain = settings.filter((one) => !sections.includes(one)).map((one) => one.node);
  general = make("section", { className: "card" }, make("div", { className: "words" }, make("h2", {}, "General")), ...plain);
  find("settings").append(general, ...sections.map((one) => one.node));
  const link = (text, target) => make("li", {}, button(text, text, () => {
    target.scrollIntoView();
    firstIn(target)?.focus();
  }));
  find("sections").replaceChildren(make("ul", {}, link("General", general),
    ...sections.map((one) => link(one.name ?? "Other keys", one.node))));
}

// Gives the focus of what is gone, or cannot be used any more, to what is there of what it was in, or to what comes next. Not to
// another text: what a person types would go into it.
function keepFocus(around) {
  const isThere = (one) => one.isConnected && one.checkVisibility() && !one.matches(":disabled");
  if (!around.length || isThere(around[0])) return;
  for (let one of around) {
    if (one.role === "presentation") continue;
    while (one && !isThere(one)) one = one.nextElementSibling;
    if (!one) continue;
    one.tabIndex = -1;
    return one.focus({ preventScroll: true });
  }
}

function refreshAll(only, texts = []) {
  const around = [];
  const main = find("settings");
  if (main.contains(document.activeElement)) {
    for (let one = document.activeElement; one !== main.parentNode; one = one.parentNode) around.push(one);
  }
  isRefreshing = true;
  try {
    for (const one of settings) if (!only || one.isRest || only.includes(one.path[0])) one.refresh(only);
  } finally {
    isRefreshing = false;
  }
  bringBack(texts);
  filter();
  keepFocus(around);
}

function tell(key, one) {
  keys.set(key, one);
  lastRevision = Math.max(lastRevision, one.revision);
}

// Takes up what the server tells of keys, unless something newer was told before; gives the keys that are new.
function take(told) {
  const fresh = Object.keys(told).filter((key) => told[key].revision > (keys.get(key)?.revision ?? -1));
  for (const key of fresh) tell(key, told[key]);
  const gone = [...keys.keys()].filter((key) => !keys.get(key).parts);
  if (gone.length > 1000) for (const key of gone.slice(0, -500)) keys.delete(key);
  if (fresh.length) refreshAll(fresh);
  return fresh;
}

// Shows the settings that are looked for; gives their number.
function filter() {
  const words = find("search").value.toLowerCase().split(/\s+/);
  const onlyChanged = find("changed").checked;
  // What a person is at stays to be seen: a control with the focus, a text that is typed, and what is said of it.
  const active = document.activeElement.matches("input, select, textarea") ? document.activeElement : null;
  const isBusy = (node) => active && node.contains(active) || typedIn(node).length > 0 || node.querySelector(".note > *");
  const visit = (one, isInside) => {
    const isFound = isInside || words.every((word) => one.found.includes(word));
    const inner = one.children().map((child) => visit(child, isFound)).reduce((sum, count) => sum + count, 0);
    const isLeaf = isFound && !one.isRest && one.children().length === 0 && (!onlyChanged || one.isChanged());
    one.node.hidden = !inner && !isLeaf && !isBusy(one.node);
    return inner + (isLeaf ? 1 : 0);
  };
  const count = settings.map((one) => visit(one, false)).reduce((sum, one) => sum + one, 0);
  general.hidden = settings.every((one) => one.isSection || one.isRest || one.node.hidden);
  find("none").hidden = count > 0;
  [general, ...settings.filter((one) => one.isSection || one.isRest).map((one) => one.node)]
    .forEach((node, index) => { find("sections").firstChild.children[index].hidden = node.hidden; });
  return count;
}

function notice() {
  const text = isOver ? "Another program answers in the place of the one behind this page. Close it: nothing is sent any more."
    : isOffline ? "The program behind this page has ended, or cannot be reached. Nothing can be saved." : fault;
  find("notice").textContent = text;
  find("notice").hidden = text === "";
}

let events;
// Whether the program behind the page is the one that the page is of: edits wait for it.
let proven = Promise.withResolvers();

function prove(isIt) {
  proven.resolve(isIt);
  proven = Promise.withResolvers();
  proven.resolve(isIt);
}

function disconnect() {
  events?.close();
  events = undefined;
  const before = proven;
  proven = Promise.withResolvers();
  proven.promise.then(before.resolve);
}

function connect() {
  disconnect();
  if (isOver) return;
  events = new EventSource("events");
  const on = (name, act) => events.addEventListener(name, (event) => act(event.data && parse(event.data)));
  on("state", (state) => {
    if (state.proof !== document.querySelector("meta[name=proof]").content) {
      isOver = isOffline = true;
      disconnect();
      prove(false);
      refreshAll();
      return notice();
    }
    prove(true);
    isOffline = false;
    fault = "";
    keys.clear();
    for (const [key, one] of Object.entries(state.keys)) tell(key, one);
    lastRevision = state.revision;
    const isNew = state.typeNumber !== typeNumber;
    const texts = isNew ? [...typed].map(([input, one]) =>
      [input, one, document.activeElement === input, [input.selectionStart, input.selectionEnd]]) : [];
    if (isNew) build(state);
    refreshAll(undefined, texts);
    notice();
    document.documentElement.dataset.ready = performance.now();
  });
  on("change", (change) => {
    const fresh = take(change.keys);
    for (const { node } of settings.filter((one) => fresh.includes(one.path?.[0]))) {
      node.classList.remove("fresh");
      requestAnimationFrame(() => node.classList.add("fresh"));
    }
  });
  on("fault", ({ message = "" }) => {
    fault = message;
    notice();
  });
  on("error", () => {
    prove(false);
    isOffline = true;
    notice();
    if (root) refreshAll();
    // A browser does not come back by itself where it was refused.
    if (events?.readyState === EventSource.CLOSED) setTimeout(() => document.hidden || connect(), 1000);
  });
}

const search = () => {
  const count = filter();
  say(`${count} ${count === 1 ? "setting" : "settings"} found.`);
};
find("search").addEventListener("input", search);
find("changed").addEventListener("change", search);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  find("search").focus();
});

window.addEventListener("beforeunload", (event) => { if (typed.size || unanswered) event.preventDefault(); });

if (JSON.rawJSON) {
  connect();
  // A browser has six connections to a server at most: a page out of sight needs none.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) connect();
    else if (!unanswered) disconnect();
  });
} else {
  fault = "This browser is too old for the page: it would round large numbers.";
  notice();
}
