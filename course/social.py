"""Make assets/social.png, the picture that a link to the course is shown with.

python3 -m course.social, after a render: the front page's widget, as it opens, without the frame.
"""

from __future__ import annotations

from pathlib import Path

from course.browser import FLAGS, find_browser
from course.serve import start_server

ROOT = Path(__file__).resolve().parents[1]
SIZE = {"width": 1200, "height": 630}
_STYLE = """
#quarto-sidebar, #quarto-margin-sidebar, .lead-in, .skip-link { display: none !important; }
#quarto-content { display: block !important; }
#quarto-document-content { max-width: none !important; padding-top: 2.4rem !important; }
#story { margin-right: 0 !important; }
"""


def main() -> None:
    from playwright.sync_api import sync_playwright

    server = start_server(ROOT / "_site", 0)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=[*FLAGS, "--force-device-scale-factor=1"]
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(f"{server.url}index.html")
        page.wait_for_selector("#story .widget-live")
        page.add_style_tag(content=_STYLE)
        page.wait_for_timeout(1000)
        page.screenshot(path=ROOT / "assets/social.png")
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
