"""The start page and a report in a real browser: `start_page.py URL [FOLDER_FOR_PICTURES]`.

Drives Debian's Chromium through its own driver: takes the sample, uploads a file, follows the job
to the report, and looks at page and report at desktop and phone width, light and dark. Checks that
nothing scrolls sideways, that the console is clean, and what axe finds (contrast included).
"""

import pathlib
import sys
import tempfile

import axe_core_python
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

ROOT = pathlib.Path(__file__).resolve().parents[2]
AXE = (pathlib.Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
]

passed = 0
failed = []


def check(name, good, detail=""):
    global passed
    if good:
        passed += 1
        print(f"ok {name}")
    else:
        failed.append(name)
        print(f"FAILED {name}: {detail}")


def browser(width, height, dark=False):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in FLAGS + [f"--user-data-dir={tempfile.mkdtemp()}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    driver = webdriver.Chrome(options, service)
    driver.set_script_timeout(180)
    # Window widths have a floor; device metrics do not.
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    return driver


def wait(driver, condition, seconds=60):
    return WebDriverWait(driver, seconds).until(condition)


def visible(driver, selector):
    found = driver.find_elements(By.CSS_SELECTOR, selector)
    return found[0] if found and found[0].is_displayed() else None


def no_sideways_scroll(driver, name):
    wide = driver.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    check(f"{name}: no sideways scroll", wide[0] <= wide[1], f"{wide[0]} px in {wide[1]} px")


def accessible(driver, name):
    driver.execute_script(AXE)
    result = driver.execute_async_script(
        "const done = arguments[0]; axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(done)")
    rules = [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in result["violations"]]
    check(f"{name}: axe finds nothing", not rules, "; ".join(rules))


def quiet_console(driver, name):
    errors = [line["message"] for line in driver.get_log("browser") if line["level"] == "SEVERE"]
    check(f"{name}: console is clean", not errors, "; ".join(errors)[:400])


def look(driver, folder, name):
    if folder:
        height = driver.execute_script("return document.documentElement.scrollHeight")
        driver.execute_cdp_cmd("Page.enable", {})
        size = driver.execute_script("return [innerWidth]")[0]
        picture = driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": size, "height": min(height, 12000), "scale": 1}})
        import base64
        (folder / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


def size(driver, start, name):
    """From the start page to the finished report; returns the report's address."""
    start()
    wait(driver, lambda d: visible(d, "#state-check") or visible(d, "#state-done"))
    if visible(driver, "#state-check"):
        check(f"{name}: problems are shown", visible(driver, "#check-tally") is not None)
        driver.find_element(By.ID, "check-go").click()
    wait(driver, lambda d: visible(d, "#state-done"))
    answer = driver.find_element(By.ID, "h-done").text
    check(f"{name}: the answer names a datastore count", "datastore" in answer.lower(), answer)
    return driver.find_element(By.ID, "done-open").get_attribute("href")


def main():
    url = sys.argv[1]
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)

    report = None
    for name, width, dark in [("desktop", 1280, False), ("dark", 1280, True),
                              ("phone", 390, False), ("narrow", 320, False)]:
        driver = browser(width, 900, dark)
        try:
            driver.get(url)
            wait(driver, lambda d: visible(d, "#try-sample"))
            no_sideways_scroll(driver, f"start, {name}")
            accessible(driver, f"start, {name}")
            look(driver, folder, f"start-{name}")
            if report is None:
                report = size(driver, driver.find_element(By.ID, "try-sample").click, "sample")
                look(driver, folder, "done")
                accessible(driver, "done")
            quiet_console(driver, f"start, {name}")
            driver.get(report)
            wait(driver, lambda d: visible(d, "h1"))
            no_sideways_scroll(driver, f"report, {name}")
            accessible(driver, f"report, {name}")
            quiet_console(driver, f"report, {name}")
            look(driver, folder, f"report-{name}")
        finally:
            driver.quit()

    driver = browser(1280, 900)
    try:
        driver.get(url)
        wait(driver, lambda d: visible(d, "#try-sample"))
        upload = driver.find_element(By.ID, "files")
        sample = str(ROOT / "data/samples/sample.xlsx")
        size(driver, lambda: upload.send_keys(sample), "upload")

        driver.get(url)
        wait(driver, lambda d: visible(d, "#try-sample"))
        nonsense = pathlib.Path(tempfile.mkdtemp()) / "holiday.xlsx"
        nonsense.write_text("not a workbook")
        driver.find_element(By.ID, "files").send_keys(str(nonsense))
        wait(driver, lambda d: visible(d, "#state-refused"))
        text = driver.find_element(By.ID, "state-refused").text
        check("refused: the file is named", "holiday.xlsx" in text, text[:300])
        look(driver, folder, "refused")

        driver.get(url)
        wait(driver, lambda d: visible(d, "#try-sample"))
        driver.find_element(By.CSS_SELECTOR, "#options details > summary").send_keys(Keys.ENTER)
        driver.find_element(By.ID, "rules-show").send_keys(Keys.ENTER)
        rules = driver.find_element(By.ID, "o-rules")
        wait(driver, lambda d: "[[" in rules.get_property("value"))
        check("rules: the built-in rules can be read", "sql" in rules.get_property("value").lower())
        look(driver, folder, "rules")
        size(driver, lambda: driver.find_element(By.ID, "try-sample").send_keys(Keys.ENTER),
             "rules handed back")

        driver.get(url)
        wait(driver, lambda d: visible(d, "#averages"))
        size(driver, driver.find_element(By.CSS_SELECTOR, "#averages [type=submit]").click,
             "averages")
    finally:
        driver.quit()

    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
