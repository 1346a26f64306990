"""The review: all checks' findings on an environment, and the page that a platform team decides from.

Each section of the page has a module, which reads its facts from the synthesized templates. `page.py` combines them,
`render.py` writes them as HTML and Markdown, and as the terminal's short text.
"""
