"""A page as its reader meets it, read by the standard library's HTML parser."""

from html.parser import HTMLParser

_EMPTY = {"meta", "link", "img", "br", "hr", "input"}  # of HTML


class Page(HTMLParser):
    """What a page consists of; an element that is not closed, or closed twice, is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), tuple(self.open)))
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), tuple(self.open)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())
