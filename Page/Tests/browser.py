"""Chromium on the settings page: finding settings, giving them values as a person would, and what is measured in it."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from served import wait_until

ALL = "input, select, textarea, button"


class Browser:
    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--force-color-profile=srgb", "--window-size=1440,1000"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(20)

    # ---- The page

    def open(self, address):
        """Opens the page, and waits for its settings; gives the milliseconds that it took."""
        self.driver.get(address)
        ready = wait_until(lambda: self.js("return document.documentElement.dataset.ready"))
        assert ready, self.driver.page_source[:500]
        return float(ready)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def scheme(self, name):
        """Light or dark, and no colours that change by themselves while they are measured."""
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def width(self, width, height=1000):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=False)

    def errors(self):
        """What the browser complains of, such as what the policy of the page forbids."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path, whole=False):
        if whole:
            height = self.js("return document.documentElement.scrollHeight")
            self.width(self.js("return innerWidth"), height)
        self.driver.save_screenshot(str(path))

    # ---- Settings

    def row(self, path):
        return self.driver.find_element(By.ID, f"at-{path}")

    def all(self, path, kind="input, select, textarea"):
        """What of a setting is shown, as it is at one moment: the page may put other elements in their places."""
        return self.js("""
            return [...document.getElementById(arguments[0])?.querySelectorAll(arguments[1]) ?? []]
                .filter((one) => one.checkVisibility({ visibilityProperty: true }));""", f"at-{path}", kind)

    def control(self, path, kind="input, select, textarea", number=0):
        """A control of a setting, when it is there."""
        found = wait_until(lambda: self.all(path, kind)[number:])
        assert found, f"no {kind} {number} at {path}"
        return self.shown(found[0])

    def shown(self, element):
        """The element, where the page's head does not cover it."""
        self.js("arguments[0].scrollIntoView({ block: 'center' })", element)
        return element

    def button(self, path, label):
        """The button that a screen reader calls so."""
        def find():
            return self.js("""
                return arguments[0].filter((one) =>
                    (one.getAttribute("aria-label") ?? one.innerText).trim().startsWith(arguments[1]));""",
                self.all(path, "button"), label)
        found = wait_until(find)
        assert found, f"no button {label} at {path}"
        return self.shown(found[0])

    def press(self, path, label):
        self.button(path, label).click()

    def type(self, path, text, kind="input, textarea", number=0, end=Keys.TAB):
        """Types a text in the place of what was there."""
        control = self.control(path, kind, number)
        control.click()
        control.send_keys(Keys.CONTROL, "a")
        control.send_keys(Keys.DELETE)
        control.send_keys(text + end)

    def choose(self, path, text, number=0):
        Select(self.control(path, "select", number)).select_by_visible_text(text)

    def value(self, path, kind="input, select, textarea", number=0):
        return self.control(path, kind, number).get_property("value")

    def note(self, path):
        return self.js("return document.getElementById(arguments[0])?.lastElementChild.textContent ?? ''", f"at-{path}")

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        """The path of the setting that has the focus, and the name of the control."""
        return self.js("""
            const one = document.activeElement;
            return [one.closest("[id^=at-]")?.id.slice(3) ?? null,
                    one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent];""")

    # ---- Measures

    def overflow(self):
        """What is wider than the window."""
        return self.js("""
            const width = document.documentElement.clientWidth;
            const wide = [...document.querySelectorAll("body *")].filter((one) => {
              const box = one.getBoundingClientRect();
              return box.width > 0 && box.right > width + 0.5 && !one.closest(".unseen, .skip");
            }).map((one) => `${one.tagName} ${one.className} ${one.id} ${one.textContent.slice(0, 30)}`);
            return document.documentElement.scrollWidth > width ? ["the page", ...wide] : wide;""")

    def contrasts(self):
        """The number of texts that were measured, and those with a contrast below 4.5."""
        return self.js(CONTRASTS)

    def unnamed(self):
        """The number of controls that a screen reader finds, and those of them that have no name for it."""
        nodes = self.command("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "checkbox", "switch", "textbox", "searchbox", "combobox", "slider", "spinbutton", "link",
                 "Date", "DateTime", "listbox", "menuitem", "InputTime", "group", "table", "region", "navigation"}
        found = [node for node in nodes if not node.get("ignored") and node["role"]["value"] in roles]
        bad = []
        for node in found:
            if node["role"]["value"] == "group" and not self.is_fieldset(node):
                continue
            if not node.get("name", {}).get("value", "").strip():
                html = self.command("DOM.describeNode", backendNodeId=node["backendDOMNodeId"])["node"]
                bad.append(f"{node['role']['value']} {html['nodeName']} {html.get('attributes')}")
        return len(found), bad

    def is_fieldset(self, node):
        return self.command("DOM.describeNode", backendNodeId=node["backendDOMNodeId"])["node"]["nodeName"] == "FIELDSET"

    def close(self):
        self.driver.quit()


# Each text, also what inputs show, against what is painted behind it.
CONTRASTS = """
const parts = (color) => (color.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
const over = (top, below) => {
  const alpha = top[3] ?? 1;
  return [0, 1, 2].map((i) => top[i] * alpha + below[i] * (1 - alpha));
};
const light = (color) => {
  const [r, g, b] = color.map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const back = (node) => {
  const layers = [];
  for (let one = node; one; one = one.parentElement) layers.push(parts(getComputedStyle(one).backgroundColor));
  return layers.reverse().reduce((below, top) => over(top, below),
    matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]);
};
const opacity = (node) => {
  let result = 1;
  for (let one = node; one; one = one.parentElement) result *= Number(getComputedStyle(one).opacity);
  return result;
};
let count = 0;
const bad = [];
const measure = (node, style, text) => {
  const behind = back(node);
  const color = parts(style.webkitTextFillColor || style.color);
  const fore = over([...color.slice(0, 3), (color[3] ?? 1) * opacity(node)], behind);
  const [a, b] = [light(fore), light(behind)].sort((x, y) => y - x);
  const contrast = (a + 0.05) / (b + 0.05);
  count += 1;
  if (contrast < 4.5) bad.push(`${contrast.toFixed(2)} ${node.tagName}.${node.className} ${text.slice(0, 40)}`);
};
for (const node of document.querySelectorAll("body *")) {
  if (!node.checkVisibility() || node.closest(".unseen") || ["OPTION", "SCRIPT", "NOSCRIPT"].includes(node.tagName)) continue;
  const style = getComputedStyle(node);
  const own = [...node.childNodes].filter((one) => one.nodeType === 3).map((one) => one.textContent.trim()).join("");
  if (own) measure(node, style, own);
  if (node.tagName === "SELECT") measure(node, style, node.selectedOptions[0]?.textContent ?? "");
  if (!["INPUT", "TEXTAREA"].includes(node.tagName) || ["checkbox", "range"].includes(node.type)) continue;
  if (node.value) measure(node, style, node.value);
  else if (node.placeholder) measure(node, getComputedStyle(node, "::placeholder"), node.placeholder);
}
return [count, bad];
"""
