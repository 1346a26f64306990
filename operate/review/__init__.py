"""The review: what all checks say of an environment, and the page that a platform team decides from.

One module for each section of the page: it reads its facts from the synthesized templates. `page.py` puts them
together, `render.py` writes them as HTML and Markdown, `summary.py` as the terminal's short text.
"""

from operate.review.findings import facts, find

__all__ = ["facts", "find"]
