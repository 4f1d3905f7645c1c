"""What a reader finds on a page, for the tests of every widget."""

from axe_playwright_python.sync_playwright import Axe

AXE = Axe()


def settle(page):
    """The cells run again in a frame after the event that changed them."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))")


def number(text):
    return float(text.replace("−", "-"))


def assert_shows(text, exact, where):
    """``text`` is ``exact``, rounded to the decimals that it has."""
    decimals = len(text.partition(".")[2])
    assert abs(number(text) - exact) <= 0.5000001 * 10**-decimals, (where, text, exact)


def axe_violations(page, context=None):
    """What axe finds inside ``context``, a selector; or on the whole page."""
    found = AXE.run(page, context=context).response["violations"]
    return [(v["id"], [n["html"][:150] for n in v["nodes"]][:3]) for v in found]
