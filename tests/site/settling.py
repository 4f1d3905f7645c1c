"""Wait until a page shows what follows from an event, and compare what it shows."""

from tests.numbers import number

# The cells run again in a frame after the event that changed them.
SETTLE = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))"


def settle(page):
    page.evaluate(SETTLE)


# No model is being read, and no part waits to be drawn.
IDLE = "() => !document.querySelector('.widget [aria-busy=true]')"


DRAWN = f"() => ({SETTLE})().then({IDLE})"


def drawn(page):
    page.evaluate(DRAWN) or page.wait_for_function(IDLE)


def assert_shows(text, exact, where):
    """``text`` is ``exact``, rounded to the decimals that it has."""
    decimals = len(text.partition(".")[2])
    assert abs(number(text) - exact) <= 0.5000001 * 10**-decimals, (where, text, exact)
