"""The report in HTML: tested functions prepare what it shows, and scripts in the page look it up.

What is where: ``subject`` (weights and their data), ``winners`` (the winners of sentences along a line), ``handles``
and ``sentences`` (the parts of a page), ``summary`` (its head, in HTML), ``encoding`` (arrays as text), ``page`` (all
of it in one file). The code of the page is in ``page.html``, ``style.css`` and the scripts, of which ``page.js`` is the
first to read.
"""

from hulltune.report.html.page import inline_report, write_report

__all__ = ["inline_report", "write_report"]
