"""What a rendered lesson says, for the tests of its sentences."""

import re


def output(page, label):
    """What the cell ``label`` printed: in one piece, or in several where it printed slowly."""
    cell = f"#{label} .cell-output-stdout, #cell-{label} .cell-output-stdout"
    return "".join(part.get_text() for part in page.select(cell)).strip()


def text_of(page, selector):
    """What stands in the element, with single spaces."""
    return " ".join(page.select_one(selector).get_text().split())


def in_order(text, *values):
    """Whether these numbers stand in the text in this order, each by itself: not 4 % in 14 %."""
    text = " ".join(text.split()).replace("\N{MINUS SIGN}", "-")
    for value in values:
        match = re.search(rf"(?<![\d.,-]){re.escape(value)}(?![\d%]|[.,]\d)", text)
        if match is None:
            return False
        text = text[match.end() :]
    return True


def shows(page, part, *values):
    """Whether one paragraph, or one item of a list, of this part has these numbers in order."""
    paragraphs = page.select_one(part).select("p, li")
    return any(in_order(paragraph.get_text(), *values) for paragraph in paragraphs)


def share(number, digits=0):
    """As a page writes it, for ``shows``."""
    return f"{100 * number:.{digits}f} %"


def cells(page, label):
    """The rows of the table that the cell ``label`` shows, without its head."""
    table = page.select(f"#{label} tr, #cell-{label} tr")
    return [[cell.get_text(" ", strip=True) for cell in row.select("td")] for row in table[1:]]
